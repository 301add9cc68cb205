"""The folders of a child run: its own, and those of the session that asked for it, by its rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.settings import SessionStorage
from netclaw.core.tool_call import OutcomeCategory
from netclaw.ports.tool import ToolContext
from netclaw.tools.factory import Delegation, make_tool_runner
from netclaw.tools.places import usable_project
from tests.tools.rig import PROVED, SOURCES, NoShell, Rig

pytestmark = pytest.mark.requirement("agents.roots")


class RunRig(Rig):
    """A run of the session `one`."""

    @property
    def parent(self) -> SessionStorage:
        """The folders of its session."""
        return super().storage

    @property
    def storage(self) -> SessionStorage:
        """The run's own folders."""
        root = f"{self.parent.root}/subagents/r1"
        return replace(self.parent, root=root, tmp=f"{self.folder}/t/k/c01234567")

    def context(self) -> ToolContext:
        """The context of one call of the run."""
        return replace(super().context(), storage=self.storage)


@pytest.fixture
def run(short_tmp: Path) -> RunRig:
    """A run, its session, another run of it, and another session."""
    rig = RunRig(folder=short_tmp.resolve())
    rig.runner = make_tool_runner(PROVED, NoShell(), SOURCES, delegation=Delegation.OWN_RUN)
    envelope = Path(rig.parent.root)
    for name in (
        *("workspace/data.txt", "tool-calls/c1", "attachment-staging/up", "logs/session.log"),
        *("jobs/j.json", "subagents/r2/workspace/note", "subagents/r2/tool-calls/c1"),
        *("worktrees/tree/file", "../two/workspace/note"),
    ):
        (envelope / name).parent.mkdir(parents=True, exist_ok=True)
        (envelope / name).write_text(f"content of {name}")
    return rig


@pytest.mark.parametrize("audience", [Audience.PERSONAL, Audience.TEAM], ids=str)
async def test_a_run_has_the_roots_of_its_parent(run: RunRig, audience: Audience) -> None:
    run.audience = audience
    envelope = run.parent.root
    for name in ("workspace/data.txt", "logs/session.log", "subagents/r2/workspace/note"):
        assert "content of" in (await run.call("file_read", path=f"{envelope}/{name}")).text, name
    for place in (run.storage.workspace, run.parent.workspace, run.parent.artifacts):
        result = await run.call("file_write", path=f"{place}/made.txt", content="made")
        assert result.receipt.category is OutcomeCategory.SUCCESS, place
        assert Path(place, "made.txt").read_text() == "made"


@pytest.mark.parametrize("audience", [Audience.PERSONAL, Audience.TEAM], ids=str)
async def test_a_run_has_no_more_than_its_parent(run: RunRig, audience: Audience) -> None:
    run.audience = audience
    envelope = run.parent.root
    for name in (
        *("tool-calls/c1", "attachment-staging/up", "jobs/j.json"),
        "subagents/r2/tool-calls/c1",
    ):
        assert "content of" not in (await run.call("file_read", path=f"{envelope}/{name}")).text
    for name in ("logs/new", "subagents/r2/workspace/new", "../two/workspace/new", "new"):
        result = await run.call("file_write", path=f"{envelope}/{name}", content="planted")
        assert result.receipt.category is OutcomeCategory.ACCESS_DENIED, name
    if audience is not Audience.PERSONAL:
        other = await run.call("file_read", path=f"{envelope}/../two/workspace/note")
        assert other.receipt.category is OutcomeCategory.ACCESS_DENIED


def test_a_run_works_in_a_worktree_of_its_parent(run: RunRig) -> None:
    declared = f"{run.parent.worktrees}/tree"
    project = usable_project(
        declared, audience=Audience.TEAM, storage=run.storage, settings=run.judged_settings
    )
    assert project is not None
    assert project.is_writable
