"""Consent modes and their resolution order; admission; profiles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.consent_modes import ModeQuestion, UnknownModeError, mode_of
from netclaw.core.authz.profiles import (
    AudienceProfile,
    ConsentMode,
    ConsentModes,
    ListMode,
    default_profile,
)
from tests.authz.world import profile

PERSONAL, TEAM = Audience.PERSONAL, Audience.TEAM
SERVER = ModeQuestion(tool="search", server="docs")


def configured(audience: Audience, **values: object) -> AudienceProfile:
    """A profile with consent modes."""
    return profile(audience, modes=ConsentModes(**values))  # type: ignore[arg-type]


@pytest.mark.requirement("authz.modes")
@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        (ConsentModes(), ConsentMode.AUTO),
        (ConsentModes(default="Approval"), ConsentMode.APPROVAL),
        (ConsentModes(default="Approval", servers={"docs": "Deny"}), ConsentMode.DENY),
        (ConsentModes(servers={"docs": "Deny"}, tools={"docs/search": "Auto"}), ConsentMode.AUTO),
        (ConsentModes(tools={"docs/search": "Auto", "docs__search": "Deny"}), ConsentMode.DENY),
        (
            ConsentModes(tools={"docs__search": "Auto", "mcp:docs:search": "Deny"}),
            ConsentMode.DENY,
        ),
        (ConsentModes(servers={"other": "Deny"}), ConsentMode.AUTO),
        (ConsentModes(tools={"search": "Deny"}), ConsentMode.AUTO),
    ],
)
def test_the_most_exact_answer_counts(modes: ConsentModes, expected: ConsentMode) -> None:
    assert mode_of(profile(TEAM, modes=modes), SERVER) is expected


@pytest.mark.requirement("authz.modes")
def test_personal_shell_asks_unless_exactly_it_is_set() -> None:
    shell = ModeQuestion(tool="shell_execute")
    assert mode_of(configured(PERSONAL, default="Auto"), shell) is ConsentMode.APPROVAL
    assert mode_of(configured(PERSONAL, tools={"shell_execute": "Auto"}), shell) is ConsentMode.AUTO
    assert mode_of(configured(TEAM), shell) is ConsentMode.AUTO


@pytest.mark.requirement("authz.modes")
def test_changes_of_the_control_plane_ask_unless_exactly_they_are_set() -> None:
    change = ModeQuestion(tool="file_write", is_control_plane=True)
    ordinary = ModeQuestion(tool="file_write")
    tools = {"file_write": "Auto"}
    assert mode_of(configured(PERSONAL, tools=tools), change) is ConsentMode.APPROVAL
    assert mode_of(configured(PERSONAL, tools=tools), ordinary) is ConsentMode.AUTO
    exact = {"file_write:control-plane": "Deny", **tools}
    assert mode_of(configured(PERSONAL, tools=exact), change) is ConsentMode.DENY
    assert mode_of(configured(TEAM, tools=tools), change) is ConsentMode.APPROVAL
    opened = {"file_write:control-plane": "Auto"}
    assert mode_of(configured(TEAM, tools=opened), change) is ConsentMode.AUTO
    for audience in (PERSONAL, TEAM):
        denied = configured(audience, tools={"file_write": "Deny"})
        assert mode_of(denied, change) is ConsentMode.DENY
        assert mode_of(configured(audience, default="Deny"), change) is ConsentMode.DENY
    closed = configured(PERSONAL, default="Deny")
    assert mode_of(closed, ModeQuestion(tool="shell_execute")) is ConsentMode.DENY
    reading = ModeQuestion(tool="file_read", is_control_plane=True)
    assert mode_of(configured(PERSONAL), reading) is ConsentMode.AUTO


@pytest.mark.requirement("authz.modes")
@pytest.mark.parametrize("modes", [{"default": "auto"}, {"tools": {"x": ""}}])
def test_a_mode_nobody_knows_is_an_error(modes: dict[str, object]) -> None:
    with pytest.raises(UnknownModeError):
        mode_of(configured(TEAM, **modes), ModeQuestion(tool="x"))


@pytest.mark.requirement("authz.admission")
def test_lists_limit_managed_tools_only() -> None:
    public, personal = default_profile(Audience.PUBLIC), default_profile(PERSONAL)
    assert public.allows_tool("file_read")
    assert not public.allows_tool("file_write")
    assert public.allows_tool("something_else")
    assert personal.allows_tool("shell_execute")
    assert not default_profile(TEAM).allows_tool("shell_execute")


@pytest.mark.requirement("authz.admission")
def test_a_server_that_is_listed_with_tools_gives_only_those() -> None:
    made = replace(
        default_profile(TEAM),
        allowed_servers=frozenset({"docs"}),
        server_tools={"docs": frozenset({"search"})},
    )
    assert made.allows_server("docs")
    assert not made.allows_server("other")
    assert made.allows_server_tool("docs", "search")
    assert not made.allows_server_tool("docs", "write")
    assert made.allows_server_tool("free", "anything")
    assert replace(made, servers_mode=ListMode.ALL).allows_server("other")


@pytest.mark.requirement("jobs.check")
def test_a_look_at_a_job_asks_only_if_exactly_it_is_configured_so() -> None:
    look = ModeQuestion(tool="check_background_job")
    assert mode_of(configured(PERSONAL, default="Approval"), look) is ConsentMode.AUTO
    assert mode_of(configured(PERSONAL, default="Auto"), look) is ConsentMode.AUTO
    assert mode_of(configured(PERSONAL, default="Deny"), look) is ConsentMode.DENY
    exact = {"check_background_job": "Approval"}
    assert mode_of(configured(PERSONAL, tools=exact), look) is ConsentMode.APPROVAL
    servers_own = ModeQuestion(tool="check_background_job", server="docs")
    assert mode_of(configured(PERSONAL, default="Approval"), servers_own) is ConsentMode.APPROVAL
