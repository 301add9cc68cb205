"""Changes of what runs by itself ask, once, for exactly the path."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.decide import decide
from netclaw.core.authz.facts import PathFact
from netclaw.core.authz.grants import ChatGrant, Grant, GrantForm, GrantStore
from netclaw.core.authz.path_access import FileMode
from netclaw.core.authz.profiles import ConsentModes, FileRule
from netclaw.core.authz.requests import AuthorizationRequest, Consents, FileCall, Policy
from netclaw.core.authz.startup_places import is_startup_fact
from netclaw.core.tool_call import FileOperation
from tests.authz.host import HOME, PROJECT, SESSION, USER_HOME
from tests.authz.table import described
from tests.authz.world import AT, POLICY, REQUESTER, ROOTS, policy, profile, root

pytestmark = pytest.mark.requirement("authz.startup-places")

STARTUP = [
    *(f"{PROJECT}/.git/config", f"{PROJECT}/.git/hooks/pre-push", f"{PROJECT}/.git"),
    *(f"{PROJECT}/deep/sub/.GIT/config", f"{SESSION}/.git/config", "/ext/.git/config"),
    *(f"{USER_HOME}/.bashrc", f"{USER_HOME}/.config/autostart/x.desktop", f"{USER_HOME}/bin/git"),
    *(f"{USER_HOME}/.local/bin/git", f"{USER_HOME}/.gitconfig"),
    *("/etc/cron.d/x", "/etc/hostname", "/usr/local/bin/git", "/opt/x", "/var/spool/cron/root"),
]
ORDINARY = [
    *(f"{PROJECT}/src/a.txt", f"{PROJECT}/.gitignore", f"{PROJECT}/.github/x", f"{SESSION}/.x"),
    *(f"{USER_HOME}/notes/a", "/ext/a", "/srv/x", f"{USER_HOME}/binary", f"{PROJECT}/a.git/x"),
]


def write(path: str, resolved: str | None = None, tool: str = "file_write") -> AuthorizationRequest:
    """A call that writes a file."""
    return AuthorizationRequest(
        attempt_id="auth-1",
        tool=tool,
        arguments=f'{{"path": "{path}"}}',
        audience=Audience.PERSONAL,
        call=FileCall(
            operation=FileOperation.WRITE,
            fact=PathFact(canonical=path, resolved=resolved or path),
        ),
        requester=REQUESTER,
        is_attended=True,
    )


@pytest.mark.parametrize("tool", ["file_write", "file_edit"])
@pytest.mark.parametrize("path", STARTUP)
def test_changing_one_asks_for_once(path: str, tool: str) -> None:
    made = decide(write(path, tool=tool), POLICY, Consents())
    assert [option.key for option in made.options] == ["approve_once", "deny"]
    assert [candidate.display for candidate in made.uncovered] == [f"{tool} {path}"]
    linked = decide(write(f"{PROJECT}/link", path, tool), POLICY, Consents())
    assert [option.key for option in linked.options] == ["approve_once", "deny"]
    shown = f"{tool} {PROJECT}/link -> {path}"
    assert [candidate.display for candidate in linked.uncovered] == [shown]


@pytest.mark.parametrize("path", STARTUP)
def test_no_grant_for_the_tool_covers_it_and_one_consent_does(path: str) -> None:
    tool = "file_write"
    grant = Grant(
        audience=Audience.PERSONAL, tool=tool, form=GrantForm.TOOL, words=(tool,), created_at=AT
    )
    chat = ChatGrant(audience=Audience.PERSONAL, tool=tool, words=(tool,))
    standing = Consents(chat=frozenset({chat}), store=GrantStore(grants=(grant,)))
    request = write(path)
    assert decide(request, POLICY, standing).options
    once = Consents(one_time=frozenset({request.key}))
    assert described(decide(request, POLICY, once)) != ""
    assert decide(request, POLICY, once).allow is not None
    unattended = replace(request, is_attended=False)
    assert decide(unattended, POLICY, Consents()).code == "approval_required_unattended"


@pytest.mark.parametrize("path", ORDINARY)
def test_other_files_are_written_unasked(path: str) -> None:
    assert decide(write(path), POLICY, Consents()).code == "PolicyAuto"


def test_reading_one_is_reading() -> None:
    request = replace(
        write("/etc/hostname", tool="file_read"),
        call=FileCall(
            operation=FileOperation.READ,
            fact=PathFact(canonical="/etc/hostname", resolved="/etc/hostname"),
        ),
    )
    assert decide(request, POLICY, Consents()).code == "PolicyAuto"


def under(*, workspaces: str = "", written: str = "", modes: ConsentModes | None = None) -> Policy:
    """The policy with more that is the operator's to give."""
    made = profile(modes=modes)
    if written:
        made = replace(made, write=FileRule(mode=FileMode.ALL, roots=(root(written),)))
    roots = replace(ROOTS, workspaces=root(workspaces) if workspaces else None)
    return replace(policy(made), roots=roots)


def is_startup(path: str, given: Policy) -> bool:
    """Whether it asks."""
    return is_startup_fact(PathFact(canonical=path, resolved=path), given)


def test_what_the_operator_named_is_written_unasked_but_for_git() -> None:
    place = f"{USER_HOME}/.dotfiles"
    assert is_startup(f"{place}/x", POLICY)
    assert not is_startup(f"{place}/x", under(workspaces=place))
    assert not is_startup(f"{place}/x", under(written=place))
    assert is_startup(f"{place}/.git/config", under(written=place))
    declared = replace(POLICY, roots=replace(ROOTS, project=root(place)))
    assert is_startup(f"{place}/x", declared)
    read_only = replace(ROOTS, workspaces=root(place, is_read_only=True))
    assert is_startup(f"{place}/x", replace(POLICY, roots=read_only))
    assert not is_startup(USER_HOME, POLICY)
    assert HOME  # the netclaw home has rules of its own


def test_only_the_exact_override_silences_it() -> None:
    for tools, outcome in (
        ({"file_write": "Auto"}, "requires_consent"),
        ({"file_write:control-plane": "Auto"}, "PolicyAuto"),
        ({"file_write": "Deny"}, "tool_denied_by_approval_policy"),
    ):
        found = decide(write("/etc/x"), under(modes=ConsentModes(tools=tools)), Consents())
        assert found.code == outcome
