"""File tools in a project make what the operator's umask says; in the envelope all is private."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from netclaw.core.settings import ToolSettings
from netclaw.core.tool_call import OutcomeCategory
from tests.tools.rig import Rig


@pytest.fixture(autouse=True, params=[0o077, 0o022], ids=["daemon", "test"])
def _own(request: pytest.FixtureRequest) -> Iterator[None]:
    """A session process's umask is the daemon's; nothing may depend on it."""
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def project(rig: Rig) -> Path:
    """The session's project directory, as its operator made it."""
    folder = rig.folder / "project"
    folder.mkdir()
    folder.chmod(0o755)
    rig.project = str(folder)
    return folder


def mode(path: Path) -> str:
    """Permission bits in octal, with setgid and its like."""
    return f"{path.stat().st_mode & 0o7777:o}"


@pytest.mark.requirement("tools.modes")
@pytest.mark.parametrize(
    ("umask", "file", "folder"),
    [(None, "644", "755"), (0o002, "664", "775"), (0o027, "640", "750"), (0o077, "600", "700")],
    ids=["unknown", "002", "027", "077"],
)
async def test_a_new_file_in_a_project_has_the_operators_modes(
    rig: Rig, project: Path, umask: int | None, file: str, folder: str
) -> None:
    if umask is not None:
        rig.settings = ToolSettings(umask=umask)
    await rig.call("file_write", path="deep/er/new.txt", content="x")
    made = [project / "deep/er/new.txt", project / "deep/er", project / "deep"]
    assert [mode(path) for path in made] == [file, folder, folder]
    assert mode(project) == "755"


@pytest.mark.requirement("tools.modes")
async def test_new_files_of_the_session_are_private(rig: Rig, project: Path) -> None:
    for root in (rig.storage.workspace, rig.storage.artifacts, rig.storage.tmp):
        result = await rig.call("file_write", path=f"{root}/deep/new.txt", content="x")
        assert result.receipt.category is OutcomeCategory.SUCCESS
        made = [Path(root), Path(root, "deep"), Path(root, "deep/new.txt")]
        assert [mode(path) for path in made] == ["700", "700", "600"]
    assert list(project.iterdir()) == []


@pytest.mark.requirement("tools.modes")
@pytest.mark.parametrize("kept", ["755", "644", "600", "664", "440"])
async def test_a_file_that_exists_keeps_its_mode(rig: Rig, project: Path, kept: str) -> None:
    for folder in (project, rig.workspace):
        script = folder / "run.sh"
        script.write_text("old")
        script.chmod(int(kept, 8))
        path = str(script)
        await rig.call("file_edit", path=path, old_string="old", new_string="edited")
        assert (script.read_text(), mode(script)) == ("edited", kept)
        await rig.call("file_write", path=path, content="written")
        assert (script.read_text(), mode(script)) == ("written", kept)


@pytest.mark.requirement("tools.modes")
async def test_a_group_that_folders_inherit_goes_on(rig: Rig, project: Path) -> None:
    project.chmod(0o2775)
    await rig.call("file_write", path="deep/er/new.txt", content="x")
    made = [project / "deep", project / "deep/er", project / "deep/er/new.txt"]
    assert [mode(path) for path in made] == ["2755", "2755", "644"]


DEFAULT_ACL = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, permissions, 0xFFFFFFFF)
    for tag, permissions in ((0x01, 7), (0x04, 7), (0x10, 7), (0x20, 0))
)
"""Version 2: all for the owner and the group, nothing for others."""


def _set_default_acl(folder: Path) -> bool:
    """False on a file system without such lists."""
    try:
        os.setxattr(folder, "system.posix_acl_default", DEFAULT_ACL)
    except OSError as fault:
        if fault.errno != errno.EOPNOTSUPP:
            raise
        return False
    return True


@pytest.mark.requirement("tools.modes")
async def test_a_folder_with_an_acl_for_what_is_made_in_it_decides(rig: Rig, project: Path) -> None:
    expected = ["770", "660"] if _set_default_acl(project) else ["755", "644"]
    await rig.call("file_write", path="deep/new.txt", content="x")
    made = [project / "deep", project / "deep/new.txt"]
    assert [mode(path) for path in made] == expected
