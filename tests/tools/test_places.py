"""Where the file tools may go, whatever a model writes as a path."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netclaw.core.authority import Audience
from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.path_rules import is_below
from netclaw.core.session.rulings import Outcome as RulingOutcome
from netclaw.core.tool_call import FileOperation, OutcomeCategory
from netclaw.tools.faults import ToolFault
from tests.tools.rig import SECRET, Rig

PIECES = st.sampled_from(
    [
        *("..", ".", "", "workspace", "a", "config", "secrets.json", "~", "home", "sessions"),
        *("one", "two", "proc", "self", "root", "é", "x y", "-", "*", "logs", "tool-calls", "..."),
    ]
)


@pytest.mark.requirement("tools.places")
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(PIECES, max_size=9),
    is_absolute=st.booleans(),
    audience=st.sampled_from(Audience),
)
def test_a_judged_path_lies_beneath_its_root_in_every_spelling(
    rig: Rig, pieces: list[str], is_absolute: bool, audience: Audience
) -> None:
    rig.audience = audience
    reach = rig.reach()
    text = ("/" if is_absolute else "") + "/".join(pieces)
    try:
        located = reach.locate(text, FileOperation.READ)
    except ToolFault:
        return
    assert ".." not in located.relative.split("/")
    assert not located.relative.startswith("/")
    expected = os.path.normpath(os.path.join(reach.places.base, text))
    assert located.path == "/" + expected.lstrip("/")
    opened = os.path.realpath(os.path.join(located.root.real, located.relative))
    assert not reach.closed.is_closed(opened, FileOperation.READ)
    assert not is_below(opened, os.path.realpath(rig.secret_file))
    if audience is not Audience.PERSONAL:
        assert is_below(opened, os.path.realpath(rig.storage.root)) or is_below(
            opened, os.path.realpath(rig.folder / "t/k")
        )


CLOSED = [
    "{home}/config/secrets.json",
    "{home}//config/../config/./secrets.json",
    "{home}/CONFIG/../config/secrets.json",
    "../../../config/secrets.json",
    "{workspace}/../../../config/secrets.json",
    "/proc/self/root{home}/config/secrets.json",
    "/proc/self/cwd/README.md",
    "/proc/1/environ",
    "/dev/null",
    "{home}/netclaw.db",
    "{home}/sessions/one/attachment-staging/upload",
    "{home}/sessions/two/attachment-staging/upload",
    "{home}/sessions/one/tool-calls/x.txt",
    "{folder}/t/other/p/scratch",
    "link",
    "link-folder/secrets.json",
    "deep/up/secrets.json",
    "to-proc/self/environ",
]
"""What nobody reads or writes, whatever the profile."""

OUTSIDE = [
    "{home}/config/netclaw.json",
    "{home}/sessions/two/workspace/file",
    "{home}/sessions/two/logs/session.log",
    "{folder}/outside.txt",
]
"""What Personal reads (mode All) and the bounded profiles do not."""


@pytest.fixture
def crowded(rig: Rig) -> Rig:
    """A session whose neighbours and links are all there."""
    for name in (
        *("one/attachment-staging/upload", "one/tool-calls/x.txt"),
        "two/attachment-staging/upload",
    ):
        path = rig.home / "sessions" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    for path in (  # of others, or nobody's secret
        *(rig.home / "sessions/one/logs/session.log", rig.home / "sessions/two/workspace/file"),
        *(rig.home / "sessions/two/logs/session.log", rig.home / "config/netclaw.json"),
        *(rig.folder / "t/other/p/scratch", rig.folder / "outside.txt"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a neighbour")
    (rig.workspace / "link").symlink_to(rig.secret_file)
    (rig.workspace / "link-folder").symlink_to(rig.home / "config")
    (rig.workspace / "deep").mkdir()
    (rig.workspace / "deep/up").symlink_to("../../../../config")
    (rig.workspace / "to-proc").symlink_to("/proc")
    return rig


def spelled(rig: Rig, spelling: str) -> str:
    """A spelling for one rig."""
    return spelling.format(home=rig.home, workspace=rig.workspace, folder=rig.folder)


@pytest.mark.requirement("files.closed")
@pytest.mark.requirement("tools.places")
@pytest.mark.parametrize("spelling", CLOSED)
@pytest.mark.parametrize("audience", list(Audience), ids=str)
async def test_what_is_closed_is_never_read_listed_searched_or_written(
    crowded: Rig, spelling: str, audience: Audience
) -> None:
    crowded.audience = audience
    path = spelled(crowded, spelling)
    for result in (
        await crowded.call("file_read", path=path),
        await crowded.call("file_list", path=path),
        await crowded.call("file_search", pattern="hunter", path=os.path.dirname(path)),
        await crowded.call("file_write", path=path, content="planted"),
        await crowded.call("file_edit", path=path, old_string="of", new_string="planted"),
        await crowded.call("set_working_directory", path=os.path.dirname(path)),
    ):
        assert "of the host" not in result.text
        assert "***" not in result.text  # the redacted secret
        assert "scratch" not in result.text.replace(path, "")
    assert crowded.secret_file.read_text() == f"{SECRET} of the host\n"
    assert (crowded.home / "netclaw.db").read_text() == f"{SECRET} of the host\n"
    assert (crowded.folder / "t/other/p/scratch").read_text() == "a neighbour"


@pytest.mark.requirement("files.reach")
@pytest.mark.parametrize("spelling", OUTSIDE)
@pytest.mark.parametrize("audience", list(Audience), ids=str)
async def test_only_personal_reads_beyond_its_own_envelope(
    crowded: Rig, spelling: str, audience: Audience
) -> None:
    crowded.audience = audience
    path = spelled(crowded, spelling)
    results = (
        await crowded.call("file_read", path=path),
        await crowded.call("file_search", pattern="neigh", path=os.path.dirname(path)),
    )
    for result in results:
        if audience is Audience.PERSONAL:
            assert "a neighbour" in result.text
        else:
            assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
            assert str(crowded.home) not in result.text


@pytest.mark.requirement("files.reach")
@pytest.mark.parametrize("audience", list(Audience), ids=str)
async def test_a_session_reads_its_own_log_and_cannot_write_it(
    crowded: Rig, audience: Audience
) -> None:
    crowded.audience = audience
    log = crowded.storage.log_file
    assert "a neighbour" in (await crowded.call("file_read", path=log)).text
    for path in (log, f"{crowded.storage.root}/new", f"{crowded.storage.logs}/new"):
        result = await crowded.call("file_write", path=path, content="planted")
        assert result.receipt.category is not OutcomeCategory.SUCCESS
    assert Path(log).read_text() == "a neighbour"


@pytest.mark.requirement("files.reach")
async def test_personal_writes_anywhere_but_in_other_sessions_and_the_control_plane(
    crowded: Rig,
) -> None:
    for path in (crowded.folder / "outside.txt", crowded.folder / "new/deep/file"):
        result = await crowded.call("file_write", path=str(path), content="written")
        assert result.receipt.category is OutcomeCategory.SUCCESS
        assert path.read_text() == "written"
    for spelling in (
        *("{home}/sessions/two/workspace/file", "{home}/sessions/two/new"),
        *("{home}/config/netclaw.json", "{home}/config/new.json", "{home}/logs/daemon.log"),
        *("{home}/agents/new.md", "{home}/agents/helper.md", "{home}/identity/SOUL.md"),
        *("{home}/run/x", "{home}/keys/x"),
    ):
        text = spelled(crowded, spelling)
        result = await crowded.call("file_write", path=text, content="planted")
        assert result.receipt.category is OutcomeCategory.ACCESS_DENIED, text
    assert "planted" not in (crowded.home / "config/netclaw.json").read_text()


@pytest.mark.requirement("agents.protected")
@pytest.mark.parametrize("place", ["agents/helper.md", "identity/SOUL.md"])
async def test_definitions_and_identity_are_read_and_never_written(
    crowded: Rig, place: str
) -> None:
    file = crowded.home / place
    file.parent.mkdir(exist_ok=True)
    file.write_text("Be kind.")
    crowded.modes = ConsentModes(tools={"file_write": "Auto", "file_edit": "Auto"})
    assert "Be kind." in (await crowded.call("file_read", path=str(file))).text
    for name, more in (
        ("file_write", {"content": "Be cruel."}),
        ("file_edit", {"old_string": "kind", "new_string": "cruel"}),
    ):
        result = await crowded.call(name, path=str(file), **more)
        assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    command = crowded.proposed("shell_execute", json.dumps({"command": f"echo x > {file}"}))
    ruling = await crowded.runner.judge(command, crowded.context())
    assert ruling.outcome is RulingOutcome.DENIED
    assert file.read_text() == "Be kind."


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


@pytest.mark.requirement("files.team-project")
async def test_a_team_has_a_project_only_below_its_roots_and_gets_nothing_by_it(rig: Rig) -> None:
    project = rig.folder / "project"
    project.mkdir()
    (project / "file").write_text("project")
    rig.project, rig.audience = str(project), Audience.TEAM
    assert rig.reach().places.is_base_own
    result = await rig.call("file_read", path=str(project / "file"))
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    rig.trust(rig.folder)
    assert "project" in (await rig.call("file_read", path="file")).text
    result = await rig.call("file_write", path="new", content="x")
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    rig.trust(project, write=True)
    result = await rig.call("file_write", path="new", content="x")
    assert result.receipt.category is OutcomeCategory.SUCCESS


@pytest.mark.requirement("files.team-project")
async def test_public_never_has_a_project(rig: Rig) -> None:
    project = rig.folder / "project"
    project.mkdir()
    rig.trust(project)
    rig.project, rig.audience = str(project), Audience.PUBLIC
    assert rig.reach().places.base == str(rig.workspace)


@pytest.mark.requirement("tools.protected")
@pytest.mark.parametrize("inside", ["", "config", "sessions", "sessions/two/workspace"])
async def test_a_project_directory_inside_the_home_is_none(crowded: Rig, inside: str) -> None:
    crowded.project = str(crowded.home / inside)
    assert crowded.reach().places.base == str(crowded.workspace)


@pytest.mark.requirement("tools.protected")
async def test_a_project_that_holds_the_home_does_not_open_it(crowded: Rig) -> None:
    crowded.project = str(crowded.folder)
    assert "a neighbour" in (await crowded.call("file_read", path="outside.txt")).text
    for path in ("home/config/secrets.json", "home/netclaw.db", "home/run/operator.token"):
        result = await crowded.call("file_read", path=path)
        assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    found = await crowded.call("file_search", pattern="hunter")
    assert "secrets.json" not in found.text
    assert "attachment-staging" not in found.text
    named = await crowded.call("file_search", pattern="*", mode="names")
    for name in ("secrets.json", "netclaw.db", "upload", "scratch"):
        assert name not in named.text
    assert "outside.txt" in named.text


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
@pytest.mark.parametrize("audience", [Audience.PERSONAL, Audience.TEAM], ids=str)
@pytest.mark.parametrize("folder", ["artifacts", "worktrees", "workspace"])
async def test_a_session_folder_that_became_a_link_is_not_the_sessions(
    rig: Rig, folder: str, audience: Audience
) -> None:
    rig.audience = audience
    path = Path(rig.storage.root, folder)
    if path.exists():
        path.rmdir()
    path.symlink_to(rig.home / "config")
    for result in (
        await rig.call("file_read", path=f"{path}/secrets.json"),
        await rig.call("file_write", path=f"{path}/secrets.json", content="planted"),
        await rig.call("file_write", path=f"{path}/netclaw.json", content="planted"),
        await rig.call("file_search", pattern="host", path=f"{path}/secrets.json"),
    ):
        assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    listed = await rig.call("file_list", path=str(path))
    is_open = listed.receipt.category is OutcomeCategory.SUCCESS
    assert is_open is (audience is Audience.PERSONAL)
    assert rig.secret_file.read_text() == f"{SECRET} of the host\n"
    assert sorted(os.listdir(rig.home / "config")) == ["secrets.json"]


@pytest.mark.requirement("files.base")
async def test_without_a_base_the_model_is_told_to_declare_one(rig: Rig) -> None:
    shutil.rmtree(rig.storage.root)
    for name, more in (("file_read", {}), ("file_write", {"content": "x"})):
        result = await rig.call(name, path="x", **more)
        assert result.receipt.category is OutcomeCategory.RECOVERABLE_CORRECTION
        assert result.receipt.remediation == "SetWorkingDirectory"
        assert result.text.startswith("No project or session directory is available.\n")
    assert not Path(rig.storage.root).exists()
    (rig.folder / "project").mkdir()
    rig.project = str(rig.folder / "project")
    result = await rig.call("file_write", path="x", content="x")
    assert result.receipt.category is OutcomeCategory.SUCCESS
