"""`netclaw jobs`: listed, shown, ended, followed."""

from __future__ import annotations

import pytest

from netclaw.wire.v1 import admin_pb2
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import AT_MS, ScriptedDaemon
from tests.cli.test_completion import offered
from tests.cli.test_contract import AT, has_null

pytestmark = pytest.mark.requirement("jobs.cli")

TEXT = "ünï\ufffd[31m\nend\n"


def row(position: int, **fields: object) -> admin_pb2.JobRow:
    """One job."""
    values: dict[str, object] = {
        "job_id": f"job{position}x",
        "session_id": "notes",
        "state": "Running",
        "command": f"make step{position}\nand more",
        "started_at_ms": AT_MS,
        "log_path": "/h/jobs/x/output.log",
        "turn_id": "t1",
        "call_id": "c1",
        "position": position,
    }
    return admin_pb2.JobRow(**{**values, **fields})  # type: ignore[arg-type]


DONE = row(
    3, state="Failed", exit_code=2, ended_at_ms=AT_MS + 61_000, told_at_ms=AT_MS, limit_s=90.0
)


@pytest.fixture(autouse=True)
def known(daemon: ScriptedDaemon) -> None:
    """Three jobs."""
    jobs = [row(1), row(2, state="Pending"), DONE]
    daemon.replies["ListJobs"] = admin_pb2.ListJobsResponse(jobs=jobs)


@pytest.mark.parametrize("words", [["jobs"], ["jobs", "list"]])
def test_jobs_are_listed(cli: Cli, daemon: ScriptedDaemon, words: list[str]) -> None:
    rows = cli.ok(*words, "--json").json
    assert [each["state"] for each in rows] == ["Running", "Pending", "Failed"]
    assert rows[0] == {
        "jobId": "job1x",
        "sessionId": "notes",
        "state": "Running",
        "command": "make step1\nand more",
        "startedAt": AT,
        "logPath": "/h/jobs/x/output.log",
        "turnId": "t1",
        "callId": "c1",
    }
    assert (rows[2]["exitCode"], rows[2]["timeoutSeconds"]) == (2, 90.0)
    assert not has_null(rows)
    assert len(daemon.requests("ListJobs")) == 2
    shown = cli.ok(*words).out
    for text in ("job1x", "Pending", "Failed (2)", "make step2 and more", "1 min"):
        assert text in shown


def test_a_list_can_be_narrowed(cli: Cli, daemon: ScriptedDaemon) -> None:
    live = cli.ok("jobs", "list", "--live", "--session", "notes", "--json").json
    assert [each["jobId"] for each in live] == ["job1x", "job2x"]
    (asked, *_) = daemon.requests("ListJobs")
    assert isinstance(asked, admin_pb2.ListJobsRequest)
    assert asked.session_id == "notes"
    daemon.replies["ListJobs"] = admin_pb2.ListJobsResponse()
    assert "no background jobs" in cli.ok("jobs").out
    assert cli.ok("jobs", "--json").json == []


def test_a_job_is_shown(cli: Cli) -> None:
    shown = cli.ok("jobs", "show", "job3x").out
    for text in ("Failed (2)", "make step3", "and more", "90 s", "/h/jobs/x/output.log"):
        assert text in shown
    assert cli.ok("jobs", "show", "job3", "--json").json["exitCode"] == 2


@pytest.mark.parametrize(("name", "words"), [("none", "no background job"), ("job", "3 jobs")])
def test_a_name_must_mean_one_job(cli: Cli, name: str, words: str) -> None:
    for command in ("show", "cancel", "tail"):
        result = cli("jobs", command, name)
        assert result.code == 1
        assert words in result.err
        assert "fix:" in result.err


def test_a_job_is_cancelled(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.replies["CancelJob"] = row(1, state="Cancelled", ended_at_ms=AT_MS)
    assert cli.ok("jobs", "cancel", "job1").out == "job1x: Cancelled\n"
    assert cli.ok("jobs", "cancel", "job1", "--json").json["state"] == "Cancelled"
    (asked, _) = daemon.requests("CancelJob")
    assert isinstance(asked, admin_pb2.JobRef)
    assert asked.job_id == "job1x"


def tails(daemon: ScriptedDaemon) -> list[admin_pb2.TailJobRequest]:
    """What was asked of logs."""
    asked = daemon.requests("TailJob")
    return [request for request in asked if isinstance(request, admin_pb2.TailJobRequest)]


def test_what_a_job_printed_is_shown_and_steers_no_terminal(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    assert cli.ok("jobs", "tail", "job1").out == TEXT
    assert cli.ok("jobs", "tail", "job1", "-f", "--bytes", "7").out == TEXT
    first, second = tails(daemon)
    assert (first.job_id, first.follow, second.follow, second.bytes) == ("job1x", False, True, 7)
    assert cli.ok("jobs", "tail", "job1", "--json").json == {
        "jobId": "job1x",
        "output": "ünï\x1b[31m\nend\n",
    }
    lines = cli.ok("jobs", "tail", "job1", "--follow", "--json").lines
    assert "".join(line["output"] for line in lines) == "ünï\x1b[31m\nend\n"


def test_ids_of_jobs_are_offered(cli: Cli, daemon: ScriptedDaemon) -> None:
    del cli, daemon
    assert offered("jobs", "show", "job") == ["job1x", "job2x", "job3x"]
    assert offered("jobs", "cancel", "job2") == ["job2x"]
    assert offered("jobs", "") == ["list", "show", "cancel", "tail"]


def test_the_status_counts_jobs(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.status.running_jobs, daemon.status.waiting_jobs = 5, 2
    assert cli("status", "--json").json["jobs"] == {"running": 5, "pending": 2}
    assert "jobs       5 running, 2 waiting" in cli("status").out
