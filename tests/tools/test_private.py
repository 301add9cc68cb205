"""Declaring a project directory opens no other netclaw home, no credentials, no session's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.tool_call import OutcomeCategory
from tests.tools.rig import SECRET, Rig

pytestmark = pytest.mark.requirement("context.private-places")


@pytest.fixture
def rig(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """A Personal session whose user has credentials and a second netclaw home."""
    made = Rig(folder=short_tmp.resolve())
    user = made.folder / "user"
    for name in (
        ".ssh/id_ed25519",
        ".config/gh/hosts.yml",
        ".npmrc",
        ".netclaw/run/operator.token",
    ):
        plant(user / name)
    for name in ("config/netclaw.json", "run/operator.token", "sessions/a/workspace/file"):
        plant(user / "projects/second" / name)
    plant(made.folder / "t/other/p/file")
    plant(user / "projects/site/config/netclaw.json", "a configuration to install\n")
    monkeypatch.setenv("HOME", str(user))
    return made


def plant(path: Path, text: str = f"{SECRET}\n") -> None:
    """A file, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    "path",
    [
        *("user/.ssh", "user/.config/gh", "user/.netclaw", "user/.netclaw/run"),
        *("user/projects/second", "user/projects/second/run"),
        *("user/projects/second/sessions/a/workspace", "t", "t/other", "t/other/p"),
    ],
)
async def test_a_private_place_is_no_project(rig: Rig, path: str) -> None:
    refused = await rig.call("set_working_directory", path=str(rig.folder / path))
    assert refused.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert refused.receipt.declared_directory is None
    # Nor is one that was declared before it was known to be private.
    rig.project = str(rig.folder / path)
    listed = await rig.call("file_list", path=rig.project)
    assert listed.receipt.category is OutcomeCategory.ACCESS_DENIED


async def test_a_link_to_a_private_place_is_no_project(rig: Rig) -> None:
    (rig.folder / "innocent").symlink_to(rig.folder / "user/.ssh")
    refused = await rig.call("set_working_directory", path=str(rig.folder / "innocent"))
    assert refused.receipt.category is OutcomeCategory.ACCESS_DENIED


@pytest.mark.parametrize(
    ("project", "path"),
    [
        ("user/.config", "gh/hosts.yml"),
        ("user/projects", "second/run/operator.token"),
    ],
)
async def test_a_project_around_a_private_place_does_not_open_it(
    rig: Rig, project: str, path: str
) -> None:
    rig.project = str(rig.folder / project)
    for tool, more in (("file_read", {}), ("file_write", {"content": "x"})):
        refused = await rig.call(tool, path=path, **more)
        assert refused.receipt.category is OutcomeCategory.ACCESS_DENIED, tool
        assert SECRET not in refused.text
    assert (rig.folder / project / path).read_text() == f"{SECRET}\n"
    listed = await rig.call("file_list", path=rig.project, depth=3)
    assert Path(path).name not in listed.text
    for mode, pattern in (("text", SECRET[:7]), ("names", Path(path).name)):
        found = await rig.call("file_search", path=rig.project, mode=mode, pattern=pattern)
        assert Path(path).name + ":" not in found.text
        assert path not in found.text


async def test_a_project_with_a_configuration_to_install_is_a_project(rig: Rig) -> None:
    site = rig.folder / "user/projects/site"
    rig.trust(rig.folder)
    taken = await rig.call("set_working_directory", path=str(site))
    assert taken.receipt.declared_directory == str(site)
    rig.project = str(site)
    read = await rig.call("file_read", path="config/netclaw.json")
    assert "to install" in read.text


@pytest.mark.parametrize("target", ["/", "/etc", "{home}/config", "{folder}/user/projects/site"])
async def test_a_project_that_became_a_link_is_none_until_it_is_declared_again(
    rig: Rig, target: str
) -> None:
    project = rig.folder / "project"
    project.mkdir()
    rig.project = str(project)
    assert "/project" in (await rig.call("file_list", path=".")).text
    project.rmdir()
    project.symlink_to(target.format(home=rig.home, folder=rig.folder))
    assert str(rig.workspace) in (await rig.call("file_list", path=".")).text
    rig.audience = Audience.TEAM
    rig.trust(project)
    assert rig.reach().places.is_base_own
    refused = await rig.call("file_list", path=str(project))
    assert refused.receipt.category is OutcomeCategory.ACCESS_DENIED
