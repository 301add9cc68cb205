"""Path access: mode, roots, links, protection, by operation; and that audiences only narrow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.authority import Audience
from netclaw.core.authz.facts import PathFact
from netclaw.core.authz.path_access import (
    FileMode,
    FileReach,
    PathFailure,
    Root,
    decide,
    holding_root,
)
from netclaw.core.authz.profiles import SessionRoots, default_profile, reach_of
from netclaw.core.authz.protected import ProtectedPaths, spellings
from netclaw.core.tool_call import FileOperation
from tests.authz.host import FILES, FOLDERS, HOME, LINKS, PROJECT, SESSION, USER_HOME, MemoryHost
from tests.authz.world import PROTECTED, ROOTS, profile, root

READ, WRITE = FileOperation.READ, FileOperation.WRITE
ATTACH, DECLARE = FileOperation.ATTACH, FileOperation.DECLARE_PROJECT_SCOPE
HOST = MemoryHost()
ALL = FileReach(mode=FileMode.ALL)
IN_PROJECT = FileReach(mode=FileMode.ROOTS, roots=(root(PROJECT),))


def failure(path: str, operation: FileOperation, reach: FileReach) -> PathFailure | None:
    """Why a path of the described host is denied."""
    return decide(HOST.path(path), operation, reach, PROTECTED).failure


@pytest.mark.requirement("authz.paths")
@pytest.mark.parametrize(
    ("path", "operation", "reach", "expected"),
    [
        ("/etc/passwd", READ, ALL, None),
        ("/etc/passwd", READ, FileReach(mode=FileMode.NONE), PathFailure.MODE_NONE),
        ("/etc/passwd", READ, IN_PROJECT, PathFailure.OUTSIDE_ROOTS),
        (f"{PROJECT}/a.txt", WRITE, IN_PROJECT, None),
        (f"{PROJECT}/new/deep", WRITE, IN_PROJECT, None),
        (PROJECT, READ, IN_PROJECT, None),
        (f"{PROJECT}-other/x", READ, IN_PROJECT, PathFailure.OUTSIDE_ROOTS),
        (f"{PROJECT.upper()}/x", READ, IN_PROJECT, PathFailure.OUTSIDE_ROOTS),
        (f"{PROJECT}/way-out/in.txt", READ, IN_PROJECT, PathFailure.LINK_BOUNDARY),
        (f"{PROJECT}/loop", READ, IN_PROJECT, PathFailure.LINK_BOUNDARY),
        (f"{PROJECT}/way-out/../x", READ, ALL, PathFailure.INVALID_PATH),
        (f"{PROJECT}/../x.txt", READ, IN_PROJECT, PathFailure.OUTSIDE_ROOTS),
        (f"{PROJECT}/a\nb", READ, ALL, PathFailure.INVALID_PATH),
        (f"{PROJECT}/a\x1bb", READ, ALL, PathFailure.INVALID_PATH),
        ("/" + "x" * 5000, READ, ALL, PathFailure.INVALID_PATH),
        (f"{HOME}/config/secrets.json", READ, ALL, PathFailure.PROTECTED),
        (f"{HOME}/config/Secrets.JSON", READ, ALL, PathFailure.PROTECTED),
        (f"{HOME}/keys", READ, ALL, PathFailure.PROTECTED),
        (f"{HOME}/netclaw.db-wal", READ, ALL, PathFailure.PROTECTED),
        (f"{HOME}/config/webhooks/one.json", ATTACH, ALL, PathFailure.PROTECTED),
        (f"{PROJECT}/to-keys/x", READ, ALL, PathFailure.PROTECTED),
        (f"{HOME}/config/netclaw.json", READ, ALL, None),
        (f"{HOME}/config/netclaw.json", WRITE, ALL, PathFailure.PROTECTED),
        (f"{HOME}/config/new.json", WRITE, ALL, PathFailure.PROTECTED),
        (f"{HOME}/logs/x", WRITE, ALL, PathFailure.PROTECTED),
        (HOME, WRITE, ALL, PathFailure.PROTECTED),
        (f"{SESSION}/x", WRITE, ALL, None),
        (f"{PROJECT}/loop", READ, ALL, PathFailure.PROTECTED),
        ("/etc", DECLARE, ALL, PathFailure.OUTSIDE_ROOTS),
    ],
)
def test_a_path_is_judged_in_the_order_of_the_reference(
    path: str, operation: FileOperation, reach: FileReach, expected: PathFailure | None
) -> None:
    assert failure(path, operation, reach) is expected


@pytest.mark.requirement("authz.paths")
def test_a_denial_names_no_root() -> None:
    decision = decide(HOST.path("/etc/passwd"), READ, IN_PROJECT, PROTECTED)
    assert not decision.is_allowed
    assert PROJECT not in decision.detail
    assert decision.detail


@pytest.mark.requirement("authz.paths")
def test_a_relative_path_is_not_usable() -> None:
    fact = PathFact(canonical="a/b", resolved="/a/b")
    assert decide(fact, READ, ALL, PROTECTED).failure is PathFailure.INVALID_PATH


@pytest.mark.requirement("authz.paths")
def test_an_exact_file_opens_nothing_beside_it() -> None:
    log = Root(canonical="/outside/in.txt", resolved="/outside/in.txt", is_file=True)
    reach = FileReach(mode=FileMode.ROOTS, roots=(log,))
    assert failure("/outside/in.txt", READ, reach) is None
    assert failure("/outside/other.txt", READ, reach) is PathFailure.WRONG_FILE
    assert failure("/etc/passwd", READ, reach) is PathFailure.OUTSIDE_ROOTS


@pytest.mark.requirement("authz.paths")
def test_a_read_only_root_gives_no_write() -> None:
    reach = FileReach(mode=FileMode.ROOTS, roots=(root(PROJECT, is_read_only=True),))
    assert failure(f"{PROJECT}/a.txt", READ, reach) is None
    assert failure(f"{PROJECT}/a.txt", WRITE, reach) is PathFailure.OUTSIDE_ROOTS


@pytest.mark.requirement("authz.paths")
def test_a_root_that_was_announced_through_a_link_holds_both_spellings() -> None:
    linked = Root(canonical=f"{PROJECT}/way-out", resolved="/outside")
    reach = FileReach(mode=FileMode.ROOTS, roots=(linked,))
    assert failure(f"{PROJECT}/way-out/in.txt", READ, reach) is None
    assert failure("/outside/in.txt", READ, reach) is None


@pytest.mark.requirement("authz.paths")
@pytest.mark.parametrize(
    ("audience", "path", "operation", "is_allowed"),
    [
        (Audience.PUBLIC, f"{SESSION}/x", READ, True),
        (Audience.PUBLIC, f"{SESSION}/x", WRITE, False),
        (Audience.PUBLIC, f"{PROJECT}/a.txt", READ, False),
        (Audience.PUBLIC, f"{HOME}/identity/SOUL.md", READ, False),
        (Audience.PUBLIC, SESSION, DECLARE, False),
        (Audience.TEAM, f"{PROJECT}/a.txt", WRITE, True),
        (Audience.TEAM, f"{HOME}/identity/SOUL.md", READ, True),
        (Audience.TEAM, f"{HOME}/identity/SOUL.md", WRITE, False),
        (Audience.TEAM, f"{HOME}/identity", DECLARE, False),
        (Audience.TEAM, f"{HOME}/sessions/two/workspace/x", READ, False),
        (Audience.TEAM, PROJECT, DECLARE, True),
        (Audience.PERSONAL, "/etc/passwd", WRITE, True),
        (Audience.PERSONAL, f"{HOME}/sessions/two/workspace/x", READ, True),
        (Audience.PERSONAL, "/etc", DECLARE, False),
        (Audience.PERSONAL, f"{HOME}/sessions/two", DECLARE, True),
    ],
)
def test_what_an_audience_reaches_by_default(
    audience: Audience, path: str, operation: FileOperation, is_allowed: bool
) -> None:
    reach = reach_of(default_profile(audience), operation, ROOTS)
    assert (failure(path, operation, reach) is None) is is_allowed


@pytest.mark.requirement("authz.paths")
def test_only_personal_reads_other_sessions_and_each_its_own_old_log() -> None:
    log = Root(canonical=f"{HOME}/logs/one.log", resolved=f"{HOME}/logs/one.log", is_file=True)
    roots = SessionRoots(own=(root(SESSION),), log_file=log, shared=(root(f"{HOME}/sessions"),))
    reach = reach_of(default_profile(Audience.PUBLIC), READ, roots)
    assert failure(log.canonical, READ, reach) is None
    assert failure(f"{HOME}/logs/two.log", READ, reach) is PathFailure.WRONG_FILE
    writing = reach_of(default_profile(Audience.TEAM), WRITE, roots)
    assert failure(log.canonical, WRITE, writing) is PathFailure.OUTSIDE_ROOTS


PATHS = st.one_of(
    st.sampled_from([*FOLDERS, *FILES, *LINKS]),
    st.builds(
        "{}/{}".format, st.sampled_from([*FOLDERS, *LINKS]), st.sampled_from(["x", "..", "a.txt"])
    ),
    st.text(alphabet="/.abk\x00 ", max_size=12).map("/{}".format),
)


@pytest.mark.requirement("authz.monotone")
@given(path=PATHS, operation=st.sampled_from(FileOperation))
def test_a_narrower_audience_is_never_allowed_more(path: str, operation: FileOperation) -> None:
    allowed = [
        failure(path, operation, reach_of(default_profile(audience), operation, ROOTS)) is None
        for audience in (Audience.PUBLIC, Audience.TEAM, Audience.PERSONAL)
    ]
    assert allowed == sorted(allowed)


@pytest.mark.requirement("authz.monotone")
@given(tool=st.one_of(st.sampled_from(["file_read", "file_write", "shell_execute"]), st.text()))
def test_a_narrower_audience_has_no_tool_that_a_wider_one_lacks(tool: str) -> None:
    profiles = [
        default_profile(item) for item in (Audience.PUBLIC, Audience.TEAM, Audience.PERSONAL)
    ]
    allowed = [item.allows_tool(tool) for item in profiles]
    assert allowed == sorted(allowed)
    servers = [item.allows_server(tool) for item in profiles]
    assert servers == sorted(servers)


@pytest.mark.requirement("authz.protected")
def test_a_home_that_is_elsewhere_protects_its_places_and_the_default_ones() -> None:
    moved = ProtectedPaths(homes=("/srv/Claw", "/real/claw"), user_home=USER_HOME)
    for path in ("/srv/claw/keys/x", "/REAL/claw/config/secrets.json", f"{HOME}/keys/x"):
        assert moved.is_protected(PathFact(canonical=path, resolved=path), READ), path
    free = PathFact(canonical="/srv/claw/models/x", resolved="/srv/claw/models/x")
    assert not moved.is_protected(free, WRITE)


def test_spellings_are_absolute_and_distinct() -> None:
    assert spellings(["/a", "b", "/a", "/c"]) == ("/a", "/c")


@pytest.mark.requirement("authz.paths")
def test_an_explicit_mode_is_not_widened_by_an_audience() -> None:
    bounded = profile(mode=FileMode.ROOTS)
    reach = reach_of(bounded, WRITE, ROOTS)
    assert failure("/etc/passwd", WRITE, reach) is PathFailure.OUTSIDE_ROOTS


@pytest.mark.requirement("authz.paths")
def test_the_root_that_a_path_is_opened_beneath_holds_all_of_it() -> None:
    linked = Root(canonical=f"{PROJECT}/way-out", resolved="/outside")
    read_only = root(PROJECT, is_read_only=True)
    reach = FileReach(mode=FileMode.ROOTS, roots=(read_only, linked))
    fact = HOST.path(f"{PROJECT}/way-out/in.txt")
    assert holding_root(fact, READ, reach) == linked
    assert holding_root(HOST.path(f"{PROJECT}/a.txt"), READ, reach) == read_only
    assert holding_root(HOST.path(f"{PROJECT}/a.txt"), WRITE, reach) is None
    assert holding_root(HOST.path(f"{PROJECT}/a.txt"), DECLARE, reach) == read_only
    assert holding_root(HOST.path("/etc/passwd"), READ, reach) is None


@pytest.mark.requirement("files.declare")
@pytest.mark.parametrize("audience", Audience)
def test_workspaces_are_declared_by_who_reads_them(audience: Audience) -> None:
    workspaces = root("/srv/work", is_read_only=True)
    own = (root(SESSION),)
    for known in ((), (workspaces,)):
        session = SessionRoots(own=own, global_read=known, workspaces=workspaces)
        reach = reach_of(default_profile(audience), DECLARE, session)
        may_read = audience is Audience.PERSONAL or (known and audience is Audience.TEAM)
        assert (workspaces in reach.roots) is bool(may_read)
    bare = SessionRoots(own=own)
    assert reach_of(default_profile(audience), DECLARE, bare).roots == own


@pytest.mark.requirement("files.reach")
@pytest.mark.parametrize("audience", Audience)
def test_the_whole_envelope_is_read_and_not_written(audience: Audience) -> None:
    envelope = root("/srv/envelope", is_read_only=True)
    session = SessionRoots(own=(root(SESSION),), envelope=envelope)
    profile = default_profile(audience)
    assert envelope in reach_of(profile, READ, session).roots
    assert envelope not in reach_of(profile, WRITE, session).roots


def test_what_is_hidden_is_listed_as_it_is_spelled() -> None:
    hidden = PROTECTED.hidden()
    assert f"{HOME}/config/secrets.json" in hidden
    assert f"{PROTECTED.user_home}/.netclaw/keys" in hidden
    assert len(set(hidden)) == len(hidden)
