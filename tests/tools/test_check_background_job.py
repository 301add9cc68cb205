"""`check_background_job` and jobs as `shell_execute` begins them, over a scripted session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.ids import JobId
from netclaw.core.session.job_events import JobState
from netclaw.core.tool_call import OutcomeCategory
from netclaw.ports.jobs import JobPlan, JobRefusedError, JobView
from netclaw.ports.tool import ToolContext
from netclaw.tools.check_background_job import UNKNOWN
from tests.tools.rig import SECRET, Rig

pytestmark = pytest.mark.requirement("jobs.check")

RUNNING = JobView(
    job_id=JobId("j1"), state=JobState.RUNNING, log_path="/l/output.log", elapsed_s=12.4
)


class Jobs:
    """The jobs of a session, as a test says."""

    def __init__(self, *views: JobView) -> None:
        self.views = {view.job_id: view for view in views}
        self.plans: list[JobPlan] = []
        self.tails: list[int] = []
        self.refusal = ""

    async def start(self, plan: JobPlan) -> JobView:
        """See `Jobs`."""
        if self.refusal:
            raise JobRefusedError(self.refusal)
        self.plans.append(plan)
        return next(iter(self.views.values()))

    async def look(self, job_id: JobId, *, tail_chars: int) -> JobView | None:
        """See `Jobs`."""
        self.tails.append(tail_chars)
        return self.views.get(job_id)

    async def cancel(self, job_id: JobId) -> bool:
        """See `Jobs`."""
        job = self.views.get(job_id)
        if job is not None:
            self.views[job_id] = replace(job, state=JobState.CANCELLED)
        return job is not None


def with_jobs(rig: Rig, monkeypatch: pytest.MonkeyPatch, *views: JobView) -> Jobs:
    """Gives the rig's session these jobs."""
    jobs = Jobs(*views)
    really = rig.context

    def context() -> ToolContext:
        return replace(really(), jobs=jobs)

    monkeypatch.setattr(rig, "context", context)
    return jobs


async def test_a_running_job_is_shown_with_the_end_of_its_output(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = with_jobs(rig, monkeypatch, replace(RUNNING, tail="last line\n"))
    result = await rig.call("check_background_job", job_id="j1")
    assert result.text.rstrip() == (
        "Background job j1: Running, for 12 s.\nLog: /l/output.log\n"
        "The end of its output:\nlast line"
    )
    assert result.receipt.is_still_running
    assert jobs.tails == [2_000]


async def test_a_job_that_is_over_is_no_running_one(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = replace(RUNNING, state=JobState.FAILED, exit_code=3)
    with_jobs(rig, monkeypatch, over)
    result = await rig.call("check_background_job", job_id="j1")
    assert "j1: Failed, after 12 s, exit status 3." in result.text
    assert "printed nothing" in result.text
    assert not result.receipt.is_still_running


@pytest.mark.parametrize("cancel", [False, True])
async def test_an_unknown_job_is_not_found(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, cancel: bool
) -> None:
    with_jobs(rig, monkeypatch, RUNNING)
    result = await rig.call("check_background_job", job_id="j2", cancel=cancel)
    assert result.receipt.category is OutcomeCategory.NOT_FOUND
    assert result.text == UNKNOWN
    assert not result.receipt.is_still_running


async def test_a_cancel_shows_how_the_job_ended(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    with_jobs(rig, monkeypatch, RUNNING)
    result = await rig.call("check_background_job", job_id="j1", cancel=True)
    assert "j1: Cancelled, after 12 s." in result.text


@pytest.mark.requirement("jobs.whole")
@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.PENDING])
async def test_a_job_is_begun_with_a_redacted_command_and_its_own_time(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, state: JobState
) -> None:
    jobs = with_jobs(rig, monkeypatch, replace(RUNNING, state=state))
    result = await rig.call(
        "shell_execute", command=f"echo {SECRET}", background=True, timeout_seconds=7200
    )
    assert f"Background job j1 {'is Running' if state.value == 'Running' else 'waits'}" in (
        result.text
    )
    assert "/l/output.log" in result.text
    (plan,) = jobs.plans
    assert (plan.command, plan.limit_s) == ("echo ***", 7200)


@pytest.mark.requirement("jobs.timeout")
async def test_without_a_time_a_job_has_none(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = with_jobs(rig, monkeypatch, RUNNING)
    await rig.call("shell_execute", command="true", background=True)
    assert jobs.plans[0].limit_s is None


@pytest.mark.requirement("job.turn-source")
async def test_what_the_session_refuses_is_a_failure(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_jobs(rig, monkeypatch, RUNNING).refusal = "No job was started: it is being stopped."
    result = await rig.call("shell_execute", command="true", background=True)
    assert result.receipt.category is OutcomeCategory.FAILURE
    assert result.text == "No job was started: it is being stopped."
