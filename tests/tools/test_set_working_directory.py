"""`set_working_directory`: which folders are a project, and what the receipt says."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.path_access import Root
from netclaw.core.tool_call import FileActivity, FileOperation, OutcomeCategory
from tests.tools.rig import Rig

pytestmark = pytest.mark.requirement("context.set-working-directory")
TOOL = "set_working_directory"


@pytest.fixture
def project(rig: Rig) -> Path:
    """A folder beside the home."""
    folder = rig.folder / "project"
    folder.mkdir()
    rig.trust(rig.folder)
    return folder


async def test_the_receipt_declares_the_canonical_folder(rig: Rig, project: Path) -> None:
    (rig.folder / "link").symlink_to(project)
    for text in (str(project), f"{rig.folder}/x/../project", str(rig.folder / "link")):
        result = await rig.call(TOOL, path=text)
        assert result.text == f"The project directory is now {project}."
        assert result.receipt.category is OutcomeCategory.SUCCESS
        assert result.receipt.declared_directory == str(project)
        assert result.receipt.file_activity == (
            FileActivity(
                path=str(project), operation=FileOperation.DECLARE_PROJECT_SCOPE, is_folder=True
            ),
        )


async def test_a_relative_path_begins_in_the_present_base(rig: Rig, project: Path) -> None:
    (project / "inner").mkdir()
    rig.project = str(project)
    result = await rig.call(TOOL, path="inner")
    assert result.receipt.declared_directory == str(project / "inner")


async def test_instructions_in_it_are_named(rig: Rig, project: Path) -> None:
    (project / "AGENTS.md").write_text("Use tabs.")
    (project / "CLAUDE.md").write_text("Use tabs.")
    assert "in CLAUDE.md" in (await rig.call(TOOL, path=str(project))).text


async def test_the_sessions_own_workspace_may_be_one(rig: Rig) -> None:
    result = await rig.call(TOOL, path=str(rig.workspace))
    assert result.receipt.declared_directory == str(rig.workspace)


@pytest.mark.parametrize(
    ("path", "category", "word"),
    [
        ("", OutcomeCategory.INVALID_INPUT, "empty"),
        ("/nowhere", OutcomeCategory.NOT_FOUND, "does not exist"),
        ("{outside}", OutcomeCategory.NOT_FOUND, "no folder"),
        ("~/x", OutcomeCategory.RECOVERABLE_CORRECTION, "full path"),
        ("/", OutcomeCategory.ACCESS_DENIED, "no project"),
        ("/usr", OutcomeCategory.ACCESS_DENIED, "no project"),
        ("/proc/self", OutcomeCategory.ACCESS_DENIED, "protected"),
        ("/etc", OutcomeCategory.ACCESS_DENIED, "no project"),
        ("{home}", OutcomeCategory.ACCESS_DENIED, "netclaw itself"),
        ("{home}/config", OutcomeCategory.ACCESS_DENIED, "netclaw itself"),
        ("{above}", OutcomeCategory.ACCESS_DENIED, "no project"),
        ("{user}", OutcomeCategory.ACCESS_DENIED, "no project"),
    ],
)
async def test_what_is_no_project_is_refused(
    rig: Rig, path: str, category: OutcomeCategory, word: str
) -> None:
    rig.trust(Path("/"))
    text = path.format(
        outside=rig.folder / "outside.txt",
        home=rig.home,
        above=rig.folder,
        user=os.path.realpath(os.path.expanduser("~")),
    )
    result = await rig.call(TOOL, path=text)
    assert result.receipt.category is category
    assert word in result.text
    assert result.receipt.declared_directory is None


@pytest.mark.requirement("files.declare")
@pytest.mark.parametrize("audience", [Audience.PERSONAL, Audience.TEAM])
async def test_only_what_lies_below_a_trusted_root_is_declared(
    rig: Rig, audience: Audience
) -> None:
    rig.audience = audience
    for folder in ("trusted/site", "other", "home/workspaces/site", "home/skills/one"):
        (rig.folder / folder).mkdir(parents=True)
    rig.trust(rig.folder / "trusted")
    known = tuple(
        Root(canonical=str(path), resolved=str(path), is_read_only=True)
        for path in (rig.home / "workspaces", rig.home / "skills")
    )
    rig.settings = replace(rig.settings, global_read_roots=known, workspaces=known[0])
    expected = {
        "trusted/site": OutcomeCategory.SUCCESS,
        "home/workspaces/site": OutcomeCategory.SUCCESS,
        "other": OutcomeCategory.ACCESS_DENIED,
        "home/skills/one": OutcomeCategory.ACCESS_DENIED,
        "home/sessions": OutcomeCategory.ACCESS_DENIED,
    }
    for folder, category in expected.items():
        result = await rig.call(TOOL, path=str(rig.folder / folder))
        assert result.receipt.category is category, folder
    (rig.folder / "trusted/out").symlink_to(rig.folder / "other")
    result = await rig.call(TOOL, path=str(rig.folder / "trusted/out"))
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED


async def test_a_link_into_the_home_is_judged_by_where_it_leads(rig: Rig) -> None:
    rig.trust(rig.folder)
    (rig.folder / "trick").symlink_to(rig.home / "config")
    result = await rig.call(TOOL, path=str(rig.folder / "trick"))
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED


async def test_a_name_with_control_characters_is_refused(rig: Rig) -> None:
    rig.trust(rig.folder)
    odd = rig.folder / "a\nb"
    odd.mkdir()
    (rig.folder / "plain").symlink_to(odd)
    result = await rig.call(TOOL, path=str(rig.folder / "plain"))
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert "not usable" in result.text


async def test_public_cannot_declare(rig: Rig, project: Path) -> None:
    rig.audience = Audience.PUBLIC
    result = await rig.call(TOOL, path=str(project))
    assert "There is no such tool" in result.text
