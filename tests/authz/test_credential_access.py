"""Which calls are shown the credentials that the operator lists."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authz.credential_access import may_be_shown
from netclaw.core.authz.grants import GrantStore
from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.authz.requests import Consents, Policy
from netclaw.core.authz.sandbox_access import SandboxAccess, access_of, is_covered
from netclaw.core.settings import ShellMode, ToolSettings
from tests.authz.host import HOME, USER_HOME
from tests.authz.world import POLICY, Shell, grants_for, policy, profile

SSH = f"{USER_HOME}/.ssh"
SETTINGS = ToolSettings(credentials=(SSH,))
AUTO = policy(profile(modes=ConsentModes(tools={"shell_execute": "Auto"})))
PUSH = Shell("git push")

pytestmark = pytest.mark.requirement("access.credentials")


def given(
    command: str,
    consents: Consents,
    under: Policy = POLICY,
    settings: ToolSettings = SETTINGS,
) -> SandboxAccess:
    """What a command is given with these consents."""
    shell = Shell(command)
    request = shell.request(consents.store.grants)
    return access_of(request, shell.decide(consents, under), under, settings)


def once(command: str) -> Consents:
    """Consent for exactly this call."""
    return Consents(one_time=frozenset({Shell(command).request().key}))


@pytest.mark.parametrize("letter", ["C", "F", "R", "A"])
def test_a_grant_of_any_scope_shows_them(letter: str) -> None:
    assert given("git push", grants_for(letter, PUSH.decide())).credentials == (SSH,)


@pytest.mark.parametrize("command", ["git push", 'cat "$FILE"', f"cat {SSH}/config && git push"])
def test_consent_for_once_shows_them(command: str) -> None:
    assert given(command, once(command)).credentials == (SSH,)


def test_nobodys_consent_shows_nothing() -> None:
    assert given("git push", Consents(), AUTO).credentials == ()
    assert given("git push", grants_for("A", PUSH.decide()), AUTO).credentials == ()
    for command in ("git status", "echo hello", f"cat {SSH}/config", "gh pr view 1"):
        assert given(command, Consents()).credentials == ()
    assert given("git push", once("git push"), settings=ToolSettings()).credentials == ()
    free = policy(shell_mode=ShellMode.HOST_ALLOWED)
    assert given("git push", once("git push"), free).credentials == ()


@pytest.mark.parametrize(
    ("command", "is_shown"),
    [
        ("cd src && git status -sb && git push && echo done", True),
        ("git branch --show-current; git push", True),
        ("[ 3 -gt 2 ] && git push", True),
        (f"cat {SSH}/config && git push", False),
        ("git push; cat a.txt", False),
        (f"cd {SSH} && ls && git push", False),
        ("git push; grep -rn KEY .", False),
        (f"git push; wc --files0-from={SSH}/id", False),
        (f"git push; git diff --no-index /dev/null {SSH}/id", False),
        (f"git push; git blame --contents={SSH}/id x", False),
        (f"git push; git ls-files -X {SSH}/id", False),
        (f"git push; git status {SSH}", False),
        ("git push; npm test", False),
    ],
)
def test_what_stands_beside_a_grant_cannot_print_them(command: str, is_shown: bool) -> None:
    consents = grants_for("A", PUSH.decide())
    assert bool(given(command, consents).credentials) is is_shown


@pytest.mark.parametrize(
    "place",
    [
        *("/", "/home", USER_HOME, HOME, f"{HOME}/config", f"{HOME}/sessions/x/workspace"),
        *(f"{USER_HOME}/.netclaw", f"{USER_HOME}/.netclaw/keys", "/run/secrets", "/proc/1/environ"),
        *("/etc", "/dev/shm/x", "/var/run/docker.sock"),
    ],
)
def test_no_home_and_nothing_around_one_is_shown(place: str) -> None:
    settings = ToolSettings(credentials=(place, SSH))
    assert given("git push", once("git push"), settings=settings).credentials == (SSH,)


def test_a_folder_around_a_home_is_none() -> None:
    assert not may_be_shown("/srv/a", homes=("/srv/a/b",), user_home="/home/op")
    assert may_be_shown("/srv/a", homes=("/srv/ab",), user_home="/home/op")


def test_a_call_that_would_see_fewer_at_its_gate_does_not_start() -> None:
    made = given("git push", once("git push"))
    assert is_covered(made, made)
    assert not is_covered(made, replace(made, credentials=()))
    assert is_covered(replace(made, credentials=()), made)


def test_a_store_that_cannot_be_read_shows_nothing() -> None:
    consents = replace(grants_for("A", PUSH.decide()), store=GrantStore(fault="broken"))
    assert given("git push", consents).credentials == ()
