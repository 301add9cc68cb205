"""Where the file tools may go, whatever a model writes as a path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netclaw.core.authority import Audience
from netclaw.core.path_rules import is_below
from netclaw.core.tool_call import FileOperation, OutcomeCategory
from netclaw.tools.faults import ToolFault
from netclaw.tools.places import places_for
from tests.tools.rig import SECRET, Rig

PIECES = st.sampled_from(
    [
        *("..", ".", "", "workspace", "a", "config", "secrets.json", "~", "home", "sessions"),
        *("one", "two", "proc", "self", "root", "é", "x y", "-", "*", "logs", "tool-calls", "..."),
    ]
)


@pytest.mark.requirement("tools.places")
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(PIECES, max_size=9), is_absolute=st.booleans())
def test_a_judged_path_lies_beneath_its_root_in_every_spelling(
    rig: Rig, pieces: list[str], is_absolute: bool
) -> None:
    places = places_for(rig.context())
    text = ("/" if is_absolute else "") + "/".join(pieces)
    try:
        located = places.locate(text, FileOperation.READ)
    except ToolFault:
        return
    assert ".." not in located.relative.split("/")
    assert not located.relative.startswith("/")
    assert is_below(located.path, located.root.announced)
    expected = os.path.normpath(os.path.join(places.base, text))
    assert os.path.normpath(located.path) == expected


SPELLINGS = [
    "{home}/config/secrets.json",
    "{home}//config/../config/./secrets.json",
    "../../../config/secrets.json",
    "{workspace}/../../../config/secrets.json",
    "/proc/self/root{home}/config/secrets.json",
    "/proc/self/cwd/README.md",
    "{home}/netclaw.db",
    "{home}/sessions/one/attachment-staging/upload",
    "{home}/sessions/one/tool-calls/x.txt",
    "{home}/sessions/one/logs/session.log",
    "{home}/sessions/two/workspace/file",
    "{folder}/outside.txt",
    "/etc/hostname",
    "link",
    "link-folder/secrets.json",
    "deep/up/secrets.json",
    "to-proc/self/environ",
]


@pytest.fixture
def crowded(rig: Rig) -> Rig:
    """A session whose neighbours and links are all there."""
    for name in ("one/attachment-staging/upload", "one/tool-calls/x.txt", "one/logs/session.log"):
        path = rig.home / "sessions" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    (rig.home / "sessions/two/workspace").mkdir(parents=True)
    (rig.home / "sessions/two/workspace/file").write_text(SECRET)
    (rig.workspace / "link").symlink_to(rig.secret_file)
    (rig.workspace / "link-folder").symlink_to(rig.home / "config")
    (rig.workspace / "deep").mkdir()
    (rig.workspace / "deep/up").symlink_to("../../../../config")
    (rig.workspace / "to-proc").symlink_to("/proc")
    return rig


@pytest.mark.requirement("tools.places")
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("audience", list(Audience), ids=str)
async def test_nothing_outside_is_read_listed_searched_or_written(
    crowded: Rig, spelling: str, audience: Audience
) -> None:
    crowded.audience = audience
    path = spelling.format(home=crowded.home, workspace=crowded.workspace, folder=crowded.folder)
    for result in (
        await crowded.call("file_read", path=path),
        await crowded.call("file_list", path=os.path.dirname(path) or path),
        await crowded.call("file_search", pattern="hunter", path=os.path.dirname(path)),
        await crowded.call("file_write", path=path, content="planted"),
        await crowded.call("file_edit", path=path, old_string="of", new_string="planted"),
    ):
        assert "of the host" not in result.text
        assert "***" not in result.text  # the redacted secret
    assert crowded.secret_file.read_text() == f"{SECRET} of the host\n"
    assert (crowded.home / "netclaw.db").read_text() == f"{SECRET} of the host\n"
    assert (crowded.home / "sessions/two/workspace/file").read_text() == SECRET


@pytest.mark.requirement("tools.places")
async def test_links_that_stay_inside_are_followed_for_reading(rig: Rig) -> None:
    (rig.workspace / "real.txt").write_text("content")
    (rig.workspace / "alias.txt").symlink_to("real.txt")
    assert "content" in (await rig.call("file_read", path="alias.txt")).text
    written = await rig.call("file_write", path="alias.txt", content="new")
    assert written.receipt.category is OutcomeCategory.RECOVERABLE_CORRECTION
    assert (rig.workspace / "real.txt").read_text() == "content"


@pytest.mark.requirement("tools.places")
@pytest.mark.parametrize("path", ["a\0b", "a\nb", "a\x7fb", "x" * 5000, "y/" * 3000, "n" * 300])
async def test_unusable_paths_are_refused_in_words(rig: Rig, path: str) -> None:
    for name in ("file_read", "file_write"):
        result = await rig.call(name, path=path, content="x")
        assert result.receipt.category in {OutcomeCategory.INVALID_INPUT, OutcomeCategory.NOT_FOUND}
        assert result.text.endswith(".")


@pytest.mark.requirement("tools.places")
async def test_a_tilde_is_not_expanded_and_says_so(rig: Rig) -> None:
    result = await rig.call("file_read", path="~/.ssh/id_ed25519")
    assert result.receipt.category is OutcomeCategory.RECOVERABLE_CORRECTION
    (rig.workspace / "~name").write_text("odd but fine")
    assert "odd but fine" in (await rig.call("file_read", path="~name")).text


@pytest.mark.requirement("tools.places")
async def test_relative_paths_begin_in_the_project_then_in_the_session(rig: Rig) -> None:
    project = rig.folder / "project"
    project.mkdir()
    (project / "which").write_text("the project")
    (rig.workspace / "which").write_text("the session")
    assert "the session" in (await rig.call("file_read", path="which")).text
    rig.project = str(project)
    assert "the project" in (await rig.call("file_read", path="which")).text
    assert "the session" in (await rig.call("file_read", path=str(rig.workspace / "which"))).text
    rig.project = str(rig.folder / "gone")
    assert "the session" in (await rig.call("file_read", path="which")).text


@pytest.mark.requirement("tools.places")
@pytest.mark.parametrize("audience", [Audience.TEAM, Audience.PUBLIC], ids=str)
async def test_only_personal_has_a_project_directory(rig: Rig, audience: Audience) -> None:
    project = rig.folder / "project"
    project.mkdir()
    (project / "file").write_text("project")
    rig.project, rig.audience = str(project), audience
    result = await rig.call("file_read", path=str(project / "file"))
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED


@pytest.mark.requirement("tools.protected")
@pytest.mark.parametrize("inside", ["", "config", "sessions", "sessions/two/workspace"])
async def test_a_project_directory_inside_the_home_is_none(crowded: Rig, inside: str) -> None:
    crowded.project = str(crowded.home / inside)
    assert places_for(crowded.context()).base == str(crowded.workspace)
    result = await crowded.call("file_list", path=crowded.project, depth=5)
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED


@pytest.mark.requirement("tools.protected")
async def test_a_project_that_holds_the_home_does_not_open_it(crowded: Rig) -> None:
    crowded.project = str(crowded.folder)
    assert "of the host" in (await crowded.call("file_read", path="outside.txt")).text
    for path in ("home/config/secrets.json", "home/netclaw.db", "home/sessions/two/workspace/file"):
        result = await crowded.call("file_read", path=path)
        assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    listed = await crowded.call("file_list", depth=8)
    assert "home/" in listed.text
    assert "secrets.json" not in listed.text
    found = await crowded.call("file_search", pattern="hunter")
    assert "secrets.json" not in found.text
    assert "outside.txt" in found.text
    named = await crowded.call("file_search", pattern="*.json", mode="names")
    assert "secrets.json" not in named.text


@pytest.mark.requirement("tools.protected")
async def test_a_project_that_holds_the_home_is_not_written(crowded: Rig) -> None:
    crowded.project = str(crowded.folder)
    result = await crowded.call("file_write", path="new.txt", content="x")
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert not (crowded.folder / "new.txt").exists()
    own = await crowded.call("file_write", path=str(crowded.workspace / "ok"), content="x")
    assert own.receipt.category is OutcomeCategory.SUCCESS


@pytest.mark.requirement("tools.places")
async def test_a_home_reached_through_a_link_works_by_both_names(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "alias").symlink_to(real)
    rig = Rig(folder=tmp_path / "alias")
    assert (await rig.call("file_write", path="x", content="y")).receipt.category == "Success"
    for path in (rig.workspace / "x", real / "home/sessions/one/workspace/x"):
        assert "\ty" in (await rig.call("file_read", path=str(path))).text
    denied = await rig.call("file_read", path=str(real / "home/config/secrets.json"))
    assert denied.receipt.category is OutcomeCategory.ACCESS_DENIED


@pytest.mark.requirement("tools.protected")
@pytest.mark.parametrize("folder", ["artifacts", "worktrees", "workspace"])
async def test_a_session_folder_that_became_a_link_is_not_the_sessions(
    rig: Rig, folder: str
) -> None:
    path = Path(rig.storage.root, folder)
    if path.exists():
        path.rmdir()
    path.symlink_to(rig.home / "config")
    for result in (
        await rig.call("file_read", path=f"{path}/secrets.json"),
        await rig.call("file_list", path=str(path)),
        await rig.call("file_write", path=f"{path}/secrets.json", content="planted"),
        await rig.call("file_search", pattern="host", path=str(path)),
    ):
        assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert rig.secret_file.read_text() == f"{SECRET} of the host\n"
