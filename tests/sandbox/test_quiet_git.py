"""A real Git in a real sandbox: what a repository names is not started by a command unasked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.settings import SandboxBackendChoice
from netclaw.sandbox.runner import SandboxRunner
from netclaw.tools.factory import make_tool_runner
from tests.sandbox.rig import PROVED
from tests.tools.judged import approved
from tests.tools.rig import SOURCES, Rig

FACTS = PROVED[SandboxBackendChoice.AUTO]
MONITOR = "touch heard; false"

pytestmark = [pytest.mark.timeout(60), pytest.mark.requirement("access.quiet-git")]


@pytest.fixture
def rig(short_tmp: Path) -> Rig:
    """A session in a repository with a monitor of its own; a command asks."""
    made = Rig(folder=short_tmp.resolve(), modes=ConsentModes())
    made.runner = make_tool_runner(FACTS, SandboxRunner(FACTS), SOURCES)
    project = made.folder / "project"
    for words in (["init", "-q", str(project)], ["-C", str(project), "config"]):
        more = ["core.fsmonitor", MONITOR] if "config" in words else []
        subprocess.run(["git", *words, *more], check=True, capture_output=True)
    made.project = str(project)
    return made


async def test_a_status_starts_no_monitor_unless_a_person_let_it_run(rig: Rig) -> None:
    heard = Path(rig.project, "heard")
    seen = await rig.call("shell_execute", command="git status --short")
    assert "exit" not in seen.text.lower() or "0" in seen.text
    assert not heard.exists()
    await (await approved(rig, command="git status --short > /dev/stdout")).run()
    assert heard.exists()


async def test_a_hook_in_an_ordinary_folder_is_not_started(rig: Rig) -> None:
    project = Path(rig.project)
    hook = project / "hooks/post-index-change"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\ntouch heard\n")
    hook.chmod(0o755)
    (project / "file").write_text("x")
    git = ["git", "-C", rig.project]
    subprocess.run([*git, "config", "--unset", "core.fsmonitor"], check=True)
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "config", "core.hooksPath", "hooks"], check=True)
    (project / "file").touch()
    await rig.call("shell_execute", command="git status")
    assert not (project / "heard").exists()
    (project / "file").touch()
    await (await approved(rig, command="git status > /dev/stdout")).run()
    assert (project / "heard").exists()


async def test_a_plain_folder_is_no_repository(rig: Rig) -> None:
    bare = Path(rig.project, "sub")
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True, capture_output=True)
    subprocess.run(
        ["git", "-C", str(bare), "config", "core.fsmonitor", MONITOR],
        check=True,
        capture_output=True,
    )
    for name, value in (("core.bare", "false"), ("core.worktree", str(bare))):
        subprocess.run(["git", "-C", str(bare), "config", name, value], check=True)
    await rig.call("shell_execute", command="git status", working_directory=str(bare))
    assert not (bare / "heard").exists()
