"""What commands make has the modes of the operator's umask, though the daemon's own is private."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.settings import SandboxBackendChoice, ShellMode, ToolSettings
from netclaw.sandbox.runner import SandboxRunner
from netclaw.tools.factory import make_tool_runner
from tests.sandbox.rig import PROVED, WORKING, Rig, visible_folder
from tests.tools import rig as tools_rig

MAKE = "touch f; mkdir d; (touch d/late; sh -c 'umask') & wait; exec 3>g"


@pytest.fixture(autouse=True)
def _private() -> Iterator[None]:
    """A session process has the daemon's umask."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """The modes of everything in a folder, by relative path."""
    return {
        str(path.relative_to(folder)): f"{path.stat().st_mode & 0o7777:o}"
        for path in folder.rglob("*")
    }


@pytest.mark.requirement("sandbox.umask")
@pytest.mark.parametrize(
    ("umask", "file", "folder"),
    [(0o022, "644", "755"), (0o002, "664", "775"), (0o077, "600", "700")],
    ids=["022", "002", "077"],
)
async def test_a_command_has_the_umask_it_was_given(
    any_rig: Rig, umask: int, file: str, folder: str
) -> None:
    """Its background processes as well."""
    ran = await any_rig.run(replace(any_rig.request(MAKE), umask=umask))
    assert ran.output == f"{umask:04o}\n"
    expected = {"f": file, "g": file, "d": folder, "d/late": file}
    assert modes(any_rig.workspace) == expected


@pytest.mark.requirement("sandbox.umask")
@pytest.mark.parametrize("choice", [*WORKING, "unconfined"], ids=str)
@pytest.mark.parametrize(("umask", "file"), [(None, "644"), (0o002, "664")], ids=["unknown", "002"])
async def test_the_shell_makes_files_in_a_project_as_its_operator_would(
    short_tmp: Path, choice: SandboxBackendChoice | str, umask: int | None, file: str
) -> None:
    settings = ToolSettings() if umask is None else ToolSettings(umask=umask)
    if choice == "unconfined":
        settings = replace(settings, shell_mode=ShellMode.HOST_ALLOWED)
    facts = PROVED[
        SandboxBackendChoice.AUTO if choice == "unconfined" else SandboxBackendChoice(choice)
    ]
    rig = tools_rig.Rig(folder=short_tmp.resolve(), settings=settings)
    rig.runner = make_tool_runner(facts, SandboxRunner(facts), tools_rig.SOURCES)
    with visible_folder() as project:
        rig.project = str(project)
        command = "touch plain; (touch behind) & wait; touch $TMPDIR/own"
        result = await rig.call("shell_execute", command=command)
        assert "exit status 0" in result.text
        assert modes(project) == {"plain": file, "behind": file}
    assert rig.workspace.stat().st_mode & 0o077 == 0
    assert Path(rig.storage.tmp).stat().st_mode & 0o077 == 0
