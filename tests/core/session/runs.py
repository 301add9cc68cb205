"""Child runs and jobs played by the test: commands made from whatever a story holds."""

from __future__ import annotations

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, JobId, RunId, TurnId
from netclaw.core.session.child_commands import (
    AcceptChild,
    BeginChild,
    ChildAsk,
    EndChild,
    ParkChild,
)
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.child_state import ChildRun
from netclaw.core.session.consent_events import ConsentOption, ConsentRequest
from netclaw.core.session.effects import Decision
from netclaw.core.session.job_commands import EndJob, StartJob
from netclaw.core.session.job_events import JobState
from netclaw.core.session.phase import Phase
from netclaw.core.settings import SessionSettings
from netclaw.testing.people import ALICE
from netclaw.testing.story import NEEDS_CONSENT, Story

OPTIONS = NEEDS_CONSENT.options
RESULT = "/s/subagents/r/result.md"


def working(
    by: Authority = ALICE,
    *,
    settings: SessionSettings | None = None,
    calls: int = 1,
    attended: bool | None = None,
) -> Story:
    """A turn of this sender with tools running."""
    story = Story(settings=settings)
    story.start()
    story.admit("first", by=by, attended=attended)
    story.call_tools(calls)
    return story


def accepting(story: Story, position: int = 0, *, digest: str = "d1") -> AcceptChild:
    """The running call at this position asks for a run."""
    running = story.runtime.running[position]
    return AcceptChild(
        token=running.token,
        call_id=running.call_id,
        agent="task-worker",
        task="look around",
        digest=digest,
    )


def spawn(story: Story, position: int = 0, *, begins: bool = True) -> RunId:
    """A run is accepted and, unless said otherwise, begins."""
    story.when(accepting(story, position))
    run_id = story.state.children[-1].run_id
    if begins:
        story.when(BeginChild(run_id=run_id, start=1))
    return run_id


def resting(
    by: Authority = ALICE,
    *,
    runs: int = 1,
    settings: SessionSettings | None = None,
    attended: bool | None = None,
) -> Story:
    """A session at rest with runs at work."""
    story = working(by, settings=settings, calls=runs, attended=attended)
    for position in range(runs):
        spawn(story, position)
    story.finish_tools()
    story.answer()
    return story


def phase_of(story: Story) -> Phase:
    """What the session is doing now."""
    return story.runtime.phase


def run_of(story: Story, position: int = 0) -> ChildRun:
    """The run at this position of the record."""
    return story.state.children[position]


def ending(
    story: Story,
    position: int = 0,
    *,
    state: ChildState = ChildState.COMPLETED,
    reason: str = "",
) -> EndChild:
    """The run reports its end."""
    run = run_of(story, position)
    return EndChild(
        run_id=run.run_id,
        start=run.start,
        state=state,
        reason=reason,
        result_path=RESULT,
        files=("/p/a",),
    )


def end_run(story: Story, position: int = 0) -> Decision:
    """The run ends well."""
    return story.when(ending(story, position))


def parking(story: Story, *calls: str, position: int = 0, by: Authority = ALICE) -> ParkChild:
    """The run parks: for the consent of these calls, or because of a drain."""
    run = run_of(story, position)
    return ParkChild(
        run_id=run.run_id,
        start=run.start,
        asks=tuple(ChildAsk(turn_id=TurnId("ct"), request=asked(call, by=by)) for call in calls),
    )


def asked(
    call: str, *, by: Authority = ALICE, options: tuple[ConsentOption, ...] = OPTIONS
) -> ConsentRequest:
    """The request of a run's call."""
    return ConsentRequest(
        call_id=CallId(call),
        tool="shell_execute",
        display="rm x",
        candidates=("rm",),
        options=options,
        requester=by.requester,
    )


def park(story: Story, *calls: str, position: int = 0) -> Decision:
    """The run parks."""
    return story.when(parking(story, *calls, position=position))


def starting(story: Story, name: str = "j1", position: int = 0) -> StartJob:
    """The running call at this position goes into the background."""
    running = story.runtime.running[position]
    return StartJob(
        token=running.token,
        call_id=running.call_id,
        job_id=JobId(name),
        command="make",
        log_path=f"/s/jobs/{name}/output.log",
        limit_s=600.0,
    )


def with_job(by: Authority = ALICE, *names: str, settings: SessionSettings | None = None) -> Story:
    """A session at rest with jobs at work, `j1` unless they are named."""
    jobs = names or ("j1",)
    story = working(by, settings=settings, calls=len(jobs))
    for position, name in enumerate(jobs):
        story.when(starting(story, name, position))
    story.finish_tools()
    story.answer()
    return story


def job_ends(
    name: str = "j1", *, state: JobState = JobState.COMPLETED, exit_code: int | None = 0
) -> EndJob:
    """A job is over."""
    return EndJob(job_id=JobId(name), state=state, exit_code=exit_code)
