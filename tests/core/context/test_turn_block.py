"""The block of a turn: time, working context, jobs; nothing that is not there."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Audience
from netclaw.core.context.git_facts import GitFacts
from netclaw.core.context.turn_block import (
    COMMAND_CHARACTERS,
    JOBS,
    GoalLine,
    JobLine,
    LocalTime,
    TurnFacts,
    render_turn_block,
)
from netclaw.core.context.working_context import WorkingContext

NOON = LocalTime(at_ms=1_790_000_123_456, offset_s=7200, zone="CEST")
TIME = "[current-time]\n2026-09-21 16:15:23+02:00 (Monday, CEST)"
JOB = JobLine(job_id="j1", state="Running", command="make\n  all", log_path="/s/jobs/j1/output.log")
WORKING = WorkingContext(directory="/p", recent_files=("/p/b", "/p/a"))
FILES = "recent_files (newest first):\n- /p/b\n- /p/a"
CLEAN = GitFacts(branch="main")


def block(audience: Audience = Audience.PERSONAL, **more: object) -> str:
    return render_turn_block(TurnFacts(audience=audience, time=NOON, **more))  # type: ignore[arg-type]


@pytest.mark.requirement("context.turn-block")
def test_time_alone_leaves_no_empty_heading() -> None:
    assert block() == TIME


@pytest.mark.requirement("context.turn-block")
def test_everything_that_is_known_is_told_in_order() -> None:
    working = WorkingContext(directory="/p")
    assert block(working=working, git=CLEAN, jobs=(JOB,)) == "\n\n".join(
        (
            TIME,
            "[working-context]\nproject_dir: /p\ngit: branch main; no changes",
            "[active-background-jobs]\n- j1 Running: make all (log: /s/jobs/j1/output.log)",
        )
    )


@pytest.mark.requirement("signals.goal-shown")
def test_the_goal_stands_behind_the_time() -> None:
    goal = GoalLine(status="active", text="Ship it")
    assert block(goal=goal, jobs=(JOB,)).startswith(f"{TIME}\n\n[goal]\nactive: Ship it\n\n[")
    assert block(Audience.PUBLIC, goal=goal) == TIME


@pytest.mark.requirement("context.turn-block")
def test_files_without_a_project_and_a_project_without_git() -> None:
    files = WorkingContext(recent_files=("/a",))
    assert block(working=files, git=CLEAN).endswith(
        "[working-context]\nrecent_files (newest first):\n- /a"
    )
    assert block(working=WORKING).endswith("project_dir: /p\n" + FILES)
    assert block(working=WorkingContext(directory="/p")).endswith(
        "[working-context]\nproject_dir: /p"
    )


@pytest.mark.requirement("context.public")
def test_public_is_told_the_time_alone() -> None:
    assert block(Audience.PUBLIC, working=WORKING, git=CLEAN, jobs=(JOB,)) == TIME
    assert block(Audience.TEAM, working=WORKING) != TIME


@pytest.mark.requirement("context.turn-block")
def test_jobs_are_bounded() -> None:
    long = JobLine(job_id="j", state="Reaped", command="x" * 1000, log_path="")
    lines = block(jobs=(long,) * (JOBS + 3)).splitlines()
    assert lines[-1] == "- and 3 more"
    assert lines[-2] == f"- j Reaped: {'x' * COMMAND_CHARACTERS} [...]"
