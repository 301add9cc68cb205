"""Git facts of a project: counted in a sandbox, and no program of the repository ever runs."""

from __future__ import annotations

import asyncio
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.context.git_facts import GitFacts
from netclaw.core.ids import CallId
from netclaw.core.settings import ShellMode, ToolSettings
from netclaw.ports.shell_runner import SandboxFacts
from netclaw.sandbox.runner import SandboxRunner
from netclaw.tools import git_inspection
from netclaw.tools.git_inspection import GitInspection
from netclaw.tools.places import Root, usable_project
from tests.sandbox.rig import PROVED, WORKING, until
from tests.tools.rig import PROVED as TOLD
from tests.tools.rig import NoShell, Rig

pytestmark = [pytest.mark.timeout(60), pytest.mark.requirement("context.git-facts")]
NAME = CallId("git-t1")


@pytest.fixture(params=WORKING, ids=str)
def facts(request: pytest.FixtureRequest) -> SandboxFacts:
    """Every backend that works here."""
    return PROVED[request.param]


@pytest.fixture
def rig(short_tmp: Path) -> Rig:
    """A Personal session with a project."""
    made = Rig(folder=short_tmp.resolve())
    project = made.folder / "project"
    project.mkdir()
    made.project = str(project)
    return made


def git(rig: Rig, *arguments: str, may_fail: bool = False) -> None:
    """Git as the project's owner uses it."""
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    subprocess.run(
        ["git", *identity, *arguments],
        cwd=rig.project,
        check=not may_fail,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(rig.folder), "GIT_CONFIG_NOSYSTEM": "1"},
    )


def project_of(rig: Rig) -> Root:
    """The project as tools see it."""
    project = usable_project(
        rig.project, audience=Audience.PERSONAL, storage=rig.storage, settings=rig.settings
    )
    assert project is not None
    return project


async def look(rig: Rig, inspection: GitInspection) -> GitFacts | None:
    """One inspection."""
    return await inspection.inspect(
        project_of(rig), name=NAME, storage=rig.storage, settings=rig.settings, trees=rig.trees
    )


def changed(rig: Rig) -> None:
    """One commit, then a change of each kind."""
    git(rig, "init", "-q", "-b", "trunk")
    folder = Path(rig.project)
    for name in ("one", "two"):
        (folder / name).write_text(name)
    git(rig, "add", ".")
    git(rig, "commit", "-q", "-m", "first")
    (folder / "one").write_text("changed")
    (folder / "three").write_text("new")
    (folder / "four").write_text("new")
    git(rig, "add", "three")


async def test_branch_and_changes_are_counted(rig: Rig, facts: SandboxFacts) -> None:
    changed(rig)
    found = await look(rig, GitInspection(facts, SandboxRunner(facts)))
    assert found == GitFacts(branch="trunk", staged=1, unstaged=1, untracked=1)
    assert rig.trees.told == [("opened", NAME), ("closed", NAME)]


async def test_a_linked_worktree_is_read_through_its_common_folder(
    rig: Rig, facts: SandboxFacts
) -> None:
    changed(rig)
    git(rig, "worktree", "add", "-q", "../linked", "-b", "side")
    rig.project = str(rig.folder / "linked")
    found = await look(rig, GitInspection(facts, SandboxRunner(facts)))
    assert found == GitFacts(branch="side")


async def test_where_there_is_no_repository_nothing_is_said(rig: Rig, facts: SandboxFacts) -> None:
    assert await look(rig, GitInspection(facts, SandboxRunner(facts))) is None


async def test_no_program_of_the_repository_runs_and_nothing_is_written(
    rig: Rig, facts: SandboxFacts
) -> None:
    changed(rig)
    folder = Path(rig.project)
    trap = folder / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{folder}/sprung'\ncat\n")
    trap.chmod(0o755)
    (folder / ".gitattributes").write_text("* filter=evil\nfour filter=a=b\n")
    hooks = folder / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman"):
        (hooks / name).write_text(trap.read_text())
        (hooks / name).chmod(0o755)
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.process", "core.sshCommand"):
        git(rig, "config", key, str(trap))
    git(rig, "config", "filter.a=b.clean", str(trap))
    git(rig, "config", "filter.evil.required", "true")
    git(rig, "config", "status.submoduleSummary", "true")
    os.utime(folder / "two", (1, 1))
    index = (folder / ".git/index").read_bytes()
    # Unconfined, so that only the switches stand between the traps and this machine.
    rig.settings = ToolSettings(shell_mode=ShellMode.HOST_ALLOWED)
    bare = replace(facts, backend=None)
    found = await look(rig, GitInspection(bare, SandboxRunner(bare)))
    assert found is not None
    assert found.branch == "trunk"
    assert not (folder / "sprung").exists()
    assert (folder / ".git/index").read_bytes() == index
    git(rig, "status", may_fail=True)
    assert (folder / "sprung").exists(), "the traps are real: a plain git springs them"


@pytest.mark.parametrize("is_program_the_url", [True, False], ids=["url", "upload-pack"])
async def test_objects_that_lack_are_not_fetched_by_a_program_of_the_repository(
    rig: Rig,
    facts: SandboxFacts,
    monkeypatch: pytest.MonkeyPatch,
    is_program_the_url: bool,
) -> None:
    changed(rig)
    folder = Path(rig.project)
    trap = folder / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{folder}/sprung'\n")
    trap.chmod(0o755)
    git(rig, "clone", "-q", "--bare", ".", "../upstream")
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{trap}" if is_program_the_url else f"{rig.folder}/upstream",
        "remote.origin.uploadPack": str(trap),
        "protocol.ext.allow": "always",
        "protocol.file.allow": "always",
    }.items():
        git(rig, "config", key, value)
    tree = subprocess.check_output(["git", "rev-parse", "HEAD^{tree}"], cwd=folder, text=True)
    (folder / ".git/objects" / tree[:2] / tree[2:].strip()).unlink()
    # A Git that does not know this switch; the others have to hold.
    assert "GIT_NO_LAZY_FETCH=1" in git_inspection.SCRIPT
    monkeypatch.setattr(
        git_inspection, "SCRIPT", git_inspection.SCRIPT.replace("GIT_NO_LAZY_FETCH=1", "")
    )
    rig.settings = ToolSettings(shell_mode=ShellMode.HOST_ALLOWED)
    bare = replace(facts, backend=None)
    assert await look(rig, GitInspection(bare, SandboxRunner(bare))) is None
    assert not (folder / "sprung").exists()
    git(rig, "status", may_fail=True)
    assert (folder / "sprung").exists(), "the trap is real: a plain git springs it"


async def test_a_git_that_does_not_hear_the_switches_is_not_used(
    rig: Rig, facts: SandboxFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(rig)
    folder = Path(rig.project)
    trap = folder / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{folder}/sprung'\n")
    trap.chmod(0o755)
    git(rig, "config", "core.fsmonitor", str(trap))
    git(rig, "config", "netclaw.mark-1-2-3", "seen")
    # What a Git before 2.31 reads there: nothing.
    assert "GIT_CONFIG_COUNT" in git_inspection.SCRIPT
    monkeypatch.setattr(
        git_inspection, "SCRIPT", git_inspection.SCRIPT.replace("GIT_CONFIG_COUNT", "GIT_UNKNOWN")
    )
    rig.settings = ToolSettings(shell_mode=ShellMode.HOST_ALLOWED)
    bare = replace(facts, backend=None)
    assert await look(rig, GitInspection(bare, SandboxRunner(bare))) is None
    assert not (folder / "sprung").exists()


async def test_without_a_sandbox_git_is_not_asked(rig: Rig) -> None:
    changed(rig)
    bare = replace(TOLD, backend=None)
    assert await look(rig, GitInspection(bare, SandboxRunner(bare))) is None


async def test_output_beyond_the_bound_is_counted_as_at_least(
    rig: Rig, facts: SandboxFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(rig, "init", "-q", "-b", "trunk")
    for number in range(400):
        (Path(rig.project) / f"{number:04}{'x' * 60}").touch()
    monkeypatch.setattr(git_inspection, "OUTPUT_MAX_BYTES", 8192)
    found = await look(rig, GitInspection(facts, SandboxRunner(facts)))
    assert found is not None
    assert found.is_cut
    assert 0 < found.untracked < 400
    assert rig.trees.told[-1] == ("closed", NAME)


async def test_what_hangs_ends_within_the_budget(
    rig: Rig, facts: SandboxFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(rig, "init", "-q")
    config = Path(rig.project) / ".git/config"
    os.mkfifo(Path(rig.project) / "pipe")
    config.write_text(config.read_text() + "[include]\n\tpath = ../pipe\n")
    monkeypatch.setattr(git_inspection, "BUDGET_S", 0.5)
    assert await look(rig, GitInspection(facts, SandboxRunner(facts))) is None


async def test_a_shell_that_does_not_start_says_nothing(rig: Rig) -> None:
    assert await look(rig, GitInspection(TOLD, NoShell())) is None
    assert rig.trees.told == []


async def test_cancelling_it_leaves_no_tree(rig: Rig, facts: SandboxFacts) -> None:
    git(rig, "init", "-q")
    config = Path(rig.project) / ".git/config"
    os.mkfifo(Path(rig.project) / "pipe")
    config.write_text(config.read_text() + "[include]\n\tpath = ../pipe\n")
    task = asyncio.create_task(look(rig, GitInspection(facts, SandboxRunner(facts))))
    await until(lambda: bool(rig.trees.told))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert rig.trees.told == [("opened", NAME), ("closed", NAME)]
