"""What an authorized command may write, read beyond the rule, and reach (decisions 44 and 45)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.authz.decisions import Decision
from netclaw.core.authz.facts import PathFact
from netclaw.core.authz.path_access import FileMode, Root
from netclaw.core.authz.profiles import ConsentModes, FileRule
from netclaw.core.authz.requests import (
    Consents,
    PlainCall,
    Policy,
)
from netclaw.core.authz.sandbox_access import (
    MAX_READABLE,
    MAX_WRITABLE,
    NOTHING,
    SandboxAccess,
    access_of,
    is_covered,
)
from netclaw.core.path_rules import is_below
from netclaw.core.session.rulings import Outcome
from netclaw.core.settings import SandboxNetwork, ShellMode, ToolSettings
from tests.authz.host import HOME, KEY_FOLDER, PROJECT, SESSION, USER_HOME
from tests.authz.retold import facts_of, on_host, shell_call, with_candidates
from tests.authz.world import HOST, POLICY, ROOTS, Shell, grants_for, policy, profile, root

SETTINGS = ToolSettings()
FILES_OF_THE_HOME = (
    *("sessions/two/workspace/note", "sessions/two/workspace/deep/x", "logs/daemon.log"),
    *("sessions/two/attachment-staging/x", "sessions/two/tool-calls/x", "identity/SOUL.md"),
    *("sessions/two/jobs/j.json", "sessions/two/jobs/j/output.log"),
    *("sessions/two/subagents/r/jobs/j.json", "sessions/two/workspace/jobs/j.json"),
    "models/x",
)
UNKNOWN = PathFact(canonical="/unknown", resolved=None)
AUTO = policy(profile(modes=ConsentModes(tools={"shell_execute": "Auto"})))


def access(
    command: str,
    under: Policy = AUTO,
    settings: ToolSettings = SETTINGS,
    *,
    cwd: str = PROJECT,
    consents: Consents | None = None,
) -> SandboxAccess:
    """What a command is given where nothing asks."""
    shell = Shell(command, cwd=cwd)
    return access_of(shell.request(), shell.decide(consents, under), under, settings)


def writing(mode: FileMode, *roots: Root) -> Policy:
    """A policy whose write profile is another."""
    made = replace(AUTO.profile, write=FileRule(mode=mode, roots=roots))
    return replace(AUTO, profile=made)


@pytest.mark.requirement("access.nearest-folder")
@pytest.mark.parametrize(
    ("command", "folders"),
    [
        ("touch /ext/new", ("/ext",)),
        ("touch /ext/a/b/c", ("/ext",)),
        ("mkdir -p /ext/a", ("/ext",)),
        ("sed -i s/a/b/ /outside/in.txt", ("/outside",)),
        ("cp a.txt /ext", ("/ext",)),
        ("rm -f /outside/in.txt", ("/outside",)),
        (f"cp a.txt {USER_HOME}/bin/tool", (f"{USER_HOME}/bin",)),
        ("git status > /ext/log", ("/ext",)),
        ("echo hello >> /ext/log", ("/ext",)),
        ("tee /ext/a /outside/b", ("/ext", "/outside")),
        ("tee /outside/in.txt /ext/a /ext/b", ("/outside", "/ext")),
        (f"mv {USER_HOME}/other/x {USER_HOME}/netclaw/y", None),
        (f"mv {PROJECT}/way-out {PROJECT}/other-way", ("/outside",)),
        ("cd /ext && npm test", ("/ext",)),
        (f"cd {USER_HOME}/other && git commit -m x", (f"{USER_HOME}/other", "/o.git")),
        (f"cd {USER_HOME}/other && npm test", (f"{USER_HOME}/other",)),
        ("cp --target-directory=/ext a.txt", ("/ext",)),
        ("rm -rf /ext/", ("/ext",)),
        (f"rm -r {USER_HOME}/bin", (f"{USER_HOME}/bin",)),
        ("python3 x.py @/ext/in", ("/ext",)),
        ('python3 "$FILE" /ext/a', ("/ext",)),
    ],
)
def test_the_nearest_folder_of_what_is_written(
    command: str, folders: tuple[str, ...] | None
) -> None:
    expected = folders or (f"{USER_HOME}/other", f"{USER_HOME}/netclaw")
    assert access(command).writable == expected


@pytest.mark.requirement("access.nearest-folder")
def test_a_moved_folder_needs_the_one_that_holds_its_name() -> None:
    host = replace(HOST, folders=(*HOST.folders, "/ext/a/b"))
    for command, folder in (("rm -r /ext/a/b", "/ext/a"), ("cp x /ext/a/b", "/ext/a/b")):
        made = access_of(on_host(command, host), allowed(), AUTO, SETTINGS)
        assert made.writable == (folder,)


def allowed(*, has_network: bool = False) -> Decision:
    """A decision that lets a call run."""
    return Decision(attempt_id="auth-1", outcome=Outcome.ALLOWED, has_network=has_network)


@pytest.mark.requirement("access.reading-opens-nothing")
@pytest.mark.parametrize(
    "command",
    [
        "ls /ext",
        "cat /outside/in.txt",
        "cd /ext && ls",
        "cd /ext && git status",
        "echo /ext/a",
        "[ -f /ext/a ] && echo yes",
        "python3 - < /outside/in.txt",
        "/ext/run.sh",
        "cat /outside/in.txt 2>/dev/null",
    ],
)
def test_reading_and_running_opens_nothing(command: str) -> None:
    assert access(command).writable == ()


@pytest.mark.requirement("access.never")
@pytest.mark.parametrize(
    "command",
    [
        "touch /new",
        "touch /etc/x",
        "touch /etc/passwd",
        "touch /usr/bin/git",
        f"touch {USER_HOME}/x",
        f"touch {HOME}/sessions/two/workspace/x",
        f"touch {HOME}/x",
        f"touch {USER_HOME}/.ssh/config",
        f"touch {USER_HOME}/.config/x",
        f"touch {KEY_FOLDER}2/p/x",
        "touch /tmp/x",
        "touch /var/tmp/x",
        "touch /dev/sda",
        f"cd {USER_HOME} && npm test",
        "cd / && npm test",
    ],
)
def test_what_is_never_opened(command: str) -> None:
    assert access(command).writable == ()


@pytest.mark.requirement("access.never")
def test_what_every_call_may_write_is_not_named_again() -> None:
    assert access(f"touch a.txt src/x {SESSION}/x {KEY_FOLDER}/p/x").writable == ()
    read_only = replace(AUTO, roots=replace(ROOTS, project=root(PROJECT, is_read_only=True)))
    assert access("touch /ext/x", read_only).writable == (PROJECT, "/ext")
    without = replace(AUTO, roots=replace(ROOTS, project=None))
    assert access("touch a.txt", without).writable == (PROJECT,)


@pytest.mark.requirement("access.never")
def test_a_folder_inside_another_is_no_mount_of_its_own() -> None:
    command = f"touch {USER_HOME}/other/x {USER_HOME}/other/.git/y /ext/a"
    assert access(command).writable == (f"{USER_HOME}/other", "/ext")


@pytest.mark.requirement("access.profile-bounds")
@pytest.mark.parametrize("mode", [FileMode.ROOTS, FileMode.NONE])
def test_consent_never_widens_a_bounded_profile(mode: FileMode) -> None:
    bounded = writing(mode)
    settings = ToolSettings(writable_roots=("/ext",))
    made = access("touch /ext/x", bounded, settings)
    assert made.writable == ()
    assert made.configured == ()


@pytest.mark.requirement("access.profile-bounds")
def test_configured_folders() -> None:
    roots = (root("/ext"), root("/outside", is_read_only=True), root("/etc/a", is_file=True))
    settings = ToolSettings(writable_roots=("/unlisted", "/", USER_HOME, HOME, "/home", "/ext"))
    whole = access("git status", writing(FileMode.ALL, *roots), settings)
    assert whole.configured == ("/ext", "/unlisted")
    assert access("git status", writing(FileMode.ROOTS, *roots), settings).configured == ("/ext",)
    assert access("git status", writing(FileMode.NONE, *roots), settings).configured == ()


@pytest.mark.requirement("agents.protected")
@pytest.mark.parametrize("name", ["agents", "agents/team", "identity", "config", "keys"])
def test_no_configuration_makes_a_protected_place_writable(name: str) -> None:
    settings = ToolSettings(writable_roots=(f"{HOME}/{name}", f"{HOME}/skills"))
    given = access("git status", writing(FileMode.ALL, root(f"{HOME}/{name}")), settings)
    assert given.configured == (f"{HOME}/skills",)


@pytest.mark.requirement("access.network")
@pytest.mark.parametrize(
    ("command", "consents", "expected"),
    [
        ("git push", "C", True),
        ("git push", "F", True),
        ("git status", "", False),
        ("gh pr view 1", "", True),
        ("git status && gh pr view 1", "", True),
        ("echo hello", "", False),
    ],
)
def test_the_network_is_for_what_was_consented(command: str, consents: str, expected: bool) -> None:
    given_to = grants_for(consents, Shell(command).decide()) if consents else Consents()
    decision = Shell(command).decide(given_to)
    assert decision.outcome is Outcome.ALLOWED
    for setting, has_network in (
        (SandboxNetwork.GRANTED, expected),
        (SandboxNetwork.NEVER, False),
        (SandboxNetwork.ALWAYS, True),
    ):
        settings = ToolSettings(sandbox_network=setting)
        made = access_of(Shell(command).request(), decision, POLICY, settings)
        assert made.has_network is has_network, setting


@pytest.mark.requirement("access.network")
def test_mode_auto_has_the_network() -> None:
    assert access("git status").has_network
    never = ToolSettings(sandbox_network=SandboxNetwork.NEVER)
    assert not access("git push", settings=never).has_network


@pytest.mark.requirement("access.readable")
def test_a_file_that_was_judged_to_be_read_is_shown() -> None:
    configuration = f"{HOME}/config/netclaw.json"
    made = access(f"cat {configuration} /tmp/x /outside/in.txt {SESSION}/x")
    assert made.readable == (configuration, "/outside/in.txt")
    assert access(f"cat {HOME}/config/secrets.json").readable == ()
    assert access(f"cp x {configuration}").readable == ()
    assert access(f"cat {PROJECT}/to-keys/x").readable == ()
    assert access(f"cat {PROJECT}/linked/out/passwd").readable == ("/etc/passwd",)
    assert access("ls /ext /absent /dev /run", cwd="/outside").readable == ("/ext", "/outside")
    assert access("git log", cwd=f"{USER_HOME}/other").readable == (f"{USER_HOME}/other", "/o.git")
    assert access("cp /outside/in.txt /ext").readable == ()
    assert access(f"ls {HOME}/sessions {USER_HOME}/.ssh").readable == ()
    assert access("ls", cwd="/tmp/given").readable == ("/tmp/given",)
    assert access("ls", cwd="/tmp").readable == access("ls", cwd=f"{KEY_FOLDER}2").readable == ()


@pytest.mark.requirement("access.readable")
@pytest.mark.parametrize(
    ("path", "is_shown"),
    [
        ("sessions/two/workspace/note", True),
        ("sessions/two/workspace/deep", True),
        ("sessions/two/attachment-staging/x", False),
        ("sessions/two/tool-calls/x", False),
        ("sessions/two/jobs/j/output.log", True),
        ("sessions/two/jobs/j.json", False),
        ("sessions/two/subagents/r/jobs/j.json", False),
        ("sessions/two/workspace/jobs/j.json", True),
        ("sessions/two", False),
        ("sessions", False),
        ("logs/daemon.log", True),
        ("logs", False),
        ("identity/SOUL.md", True),
        ("identity", True),
        ("models/x", False),
        ("run/operator.token", False),
    ],
)
def test_of_the_home_what_the_audiences_roots_hold(path: str, is_shown: bool) -> None:
    files = [f"{HOME}/{path}" for path in FILES_OF_THE_HOME]
    host = replace(HOST, files=(*HOST.files, *files), folders=(*HOST.folders, f"{HOME}/identity"))
    request = on_host(f"cat {HOME}/{path}", host)
    made = access_of(request, allowed(), AUTO, SETTINGS).readable
    assert made == ((f"{HOME}/{path}",) if is_shown else ())
    bare = replace(AUTO, roots=replace(ROOTS, shared=(), global_read=()))
    assert access_of(request, allowed(), bare, SETTINGS).readable == ()


@pytest.mark.requirement("access.readable")
def test_what_is_writable_is_not_shown_read_only() -> None:
    made = access("cp /outside/in.txt /ext/a; cat /ext/b")
    assert made.writable == ("/outside", "/ext")
    assert made.readable == ()


@pytest.mark.requirement("access.readable")
def test_a_named_file_of_a_shared_temporary_folder_is_shown() -> None:
    host = replace(HOST, files=(*HOST.files, "/tmp/given.txt", f"{KEY_FOLDER}2/p/x", "/tmp/l"))
    for path, is_shown in (
        ("/tmp/given.txt", True),
        ("/tmp/absent", False),
        (f"{KEY_FOLDER}2/p/x", False),
        (f"{KEY_FOLDER}/p", False),
    ):
        made = access_of(on_host(f"cat {path}", host), allowed(), POLICY, SETTINGS).readable
        assert made == ((path,) if is_shown else ()), path


@pytest.mark.requirement("access.modes")
def test_without_a_sandbox_nothing_is_held() -> None:
    host = policy(shell_mode=ShellMode.HOST_ALLOWED)
    made = access("touch /ext/x", host)
    assert made == SandboxAccess(writable=(), has_network=True, is_confined=False)


@pytest.mark.requirement("access.modes")
def test_only_a_command_is_given_anything() -> None:
    request = replace(Shell("git status").request(), tool="session_status", call=PlainCall())
    assert access_of(request, allowed(has_network=True), POLICY, SETTINGS) == NOTHING
    refused = Shell("git\x00status")
    assert access_of(refused.request(), refused.decide(), POLICY, SETTINGS) == NOTHING


@pytest.mark.requirement("access.nearest-folder")
def test_a_path_of_which_nothing_is_known_opens_nothing() -> None:
    request = Shell("cd /ext && touch /outside/x").request()
    blind = with_candidates(
        request,
        *(
            replace(item, paths=tuple(replace(use, fact=UNKNOWN) for use in item.paths))
            for item in facts_of(request).candidates
        ),
    )
    unresolved = dict.fromkeys(shell_call(request).paths, UNKNOWN)
    unknown = replace(blind, call=replace(shell_call(blind), paths=unresolved))
    assert access_of(unknown, allowed(), AUTO, SETTINGS).writable == ()


@pytest.mark.requirement("access.at-the-gate")
def test_what_was_given_may_shrink_and_never_grow() -> None:
    given_now = SandboxAccess(writable=("/a", "/b"), configured=("/c",), readable=("/d",))
    assert is_covered(given_now, given_now)
    assert is_covered(NOTHING, replace(given_now, has_network=True))
    for less in (
        replace(given_now, writable=("/a",)),
        replace(given_now, configured=()),
        replace(given_now, readable=("/e",)),
    ):
        assert is_covered(less, given_now) is (less.readable == ("/d",))
        assert not is_covered(given_now, less)
    assert not is_covered(replace(NOTHING, has_network=True), NOTHING)
    assert not is_covered(replace(NOTHING, is_confined=False), NOTHING)
    assert is_covered(NOTHING, replace(NOTHING, is_confined=False))


@pytest.mark.requirement("access.bounds")
def test_places_of_one_call_are_bounded() -> None:
    folders = tuple(f"/ext/d{number}" for number in range(400))
    host = replace(HOST, folders=(*HOST.folders, *folders))
    wide = on_host("touch " + " ".join(f"{folder}/x" for folder in folders), host)
    made = access_of(wide, allowed(), AUTO, SETTINGS)
    assert made.writable == folders[:MAX_WRITABLE]
    seen = access_of(on_host("ls " + " ".join(folders), host), allowed(), AUTO, SETTINGS)
    assert seen.readable == folders[:MAX_READABLE]


WORDS = st.sampled_from(
    [
        *("touch", "rm -rf", "mv", "cp", "cd", "python3", "git push", "cat", "ls", "npm test"),
        *(
            "/",
            "/ext",
            "/ext/x",
            "/etc/passwd",
            "~",
            "~/x",
            "~/.ssh/id",
            "~/.config/x/y",
            "..",
            ".",
        ),
        *("src/x", "/tmp/x", "/outside/in.txt", f"{USER_HOME}/other", HOME, f"{HOME}/x", "&&", ";"),
    ]
)


@pytest.mark.requirement("access.never")
@given(st.lists(WORDS, min_size=1, max_size=8), st.sampled_from([PROJECT, "/ext", USER_HOME, "/"]))
def test_no_command_opens_what_holds_or_lies_in_a_closed_place(words: list[str], cwd: str) -> None:
    made = access(" ".join(words), cwd=cwd)
    for folder in (*made.writable, *made.configured):
        for place in (HOME, f"{USER_HOME}/.ssh", f"{USER_HOME}/.config/gh", "/etc", "/tmp"):
            assert not is_below(place, folder)
            assert not is_below(folder, place)
        assert folder not in ("/", USER_HOME)
