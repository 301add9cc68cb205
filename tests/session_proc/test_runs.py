"""Child runs and jobs in the log of a session."""

from __future__ import annotations

import re

import pytest

from netclaw.core.redaction import Redactor
from netclaw.core.session.child_commands import BeginChild, CancelChild
from netclaw.core.session.job_events import JobState
from netclaw.session_proc.log_lines import LogLines
from netclaw.testing.people import ALICE
from netclaw.testing.story import Story
from tests.core.session.runs import (
    end_run,
    job_ends,
    park,
    run_of,
    spawn,
    starting,
    working,
)

SECRET = "sk-abcdefghijklmnopqrstuvwx"


def log_of(story: Story) -> list[str]:
    """What the session log says of runs and jobs, without times and minted ids."""
    lines = LogLines(Redactor((SECRET,)).redact)
    text = "".join(lines.render(row, story.state) for row in story.journal)
    for run in story.state.children:
        text = text.replace(run.run_id, "r")
        text = text.replace(run.delivered_in or "-", "t")
    text = re.sub(r"Turn [a-z2-7]{16} tells", "Turn t tells", text)
    told = [line.partition(" ")[2] for line in text.splitlines()]
    return [line for line in told if line.startswith(("Child run", "Job", "Turn t tells"))]


@pytest.mark.requirement("child.log")
def test_the_log_tells_the_life_of_a_run() -> None:
    story = working(ALICE)
    spawn(story)
    park(story, "c1")
    call_id = run_of(story).requests[0].request.call_id
    story.choose("once", call=call_id, by=ALICE)
    story.when(BeginChild(run_id=run_of(story).run_id, start=2))
    story.when(CancelChild(run_id=run_of(story).run_id, actor="U1", authority=None))
    end_run(story)
    story.finish_tools()
    story.answer()
    assert log_of(story) == [
        'Child run r accepted: "task-worker" "look around"',
        "Child run r started",
        "Child run r parked: consent",
        "Child run r resumed",
        "Child run r started",
        'Child run r to be cancelled by "U1"',
        "Child run r starts nothing more",
        "Child run r ended: Cancelled CancelledByParent",
        "Turn t tells of child run r",
    ]


@pytest.mark.requirement("child.log")
def test_the_log_tells_the_life_of_jobs_and_no_secret() -> None:
    story = working(ALICE, calls=2)
    story.when(starting(story, "j1", 0))
    story.when(starting(story, "j2", 1))
    story.when(job_ends("j1", state=JobState.TIMED_OUT, exit_code=None))
    story.finish_tools()
    story.answer()
    story.answer()
    story.crash()
    story.start()
    assert log_of(story) == [
        'Job j1 started: "make"',
        'Job j2 started: "make"',
        "Job j1 ended: TimedOut, exit code -",
        "Turn t tells of job j1",
        "Job j2 died with its process",
    ]
