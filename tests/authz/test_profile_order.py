"""No audience is wider than the next: what counts as wider, on profiles as values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.path_access import FileMode, Root
from netclaw.core.authz.profile_order import Widening, widenings
from netclaw.core.authz.profiles import (
    DEFAULT_PROFILES,
    AttachmentCategory,
    AttachmentRule,
    AudienceProfile,
    FileRule,
    ListMode,
    default_profile,
)
from netclaw.core.settings import ToolSettings

PERSONAL, TEAM, PUBLIC = map(default_profile, Audience)
ROOT = Root(canonical="/srv/a", resolved="/srv/a")
LINKED = Root(canonical="/srv/link", resolved="/data")
BELOW = Root(canonical="/data/b", resolved="/data/b")


def found(*changed: AudienceProfile) -> list[tuple[Audience, str, str]]:
    """What breaks the order when these profiles stand in for the defaults."""
    known = {profile.audience: profile for profile in (*DEFAULT_PROFILES, *changed)}
    return [(each.narrow, each.key, each.what) for each in widenings(tuple(known.values()))]


def test_the_defaults_keep_the_order() -> None:
    assert widenings(DEFAULT_PROFILES) == ()
    assert ToolSettings().profile_of(Audience.TEAM) == TEAM


@pytest.mark.requirement("profiles.monotone")
@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ([replace(PUBLIC, tools_mode=ListMode.ALL)], [("ToolsMode", "all tools")]),
        (
            [replace(PUBLIC, allowed_tools=frozenset({"file_write", "web_fetch", "not_managed"}))],
            [],
        ),
        (
            [replace(TEAM, allowed_tools=frozenset({"file_read"}))],
            [("AllowedTools", "attach_file, file_list, file_search, tool_output_read")],
        ),
        ([replace(PUBLIC, servers_mode=ListMode.ALL)], [("McpServersMode", "all servers")]),
        ([replace(PUBLIC, allowed_servers=frozenset("ab"))], [("AllowedMcpServers", "a, b")]),
        (
            [replace(PUBLIC, attachments=AttachmentRule(categories=frozenset(AttachmentCategory)))],
            [("ChannelAttachments.AllowedCategories", "Other")],
        ),
        ([replace(PUBLIC, read=FileRule(mode=FileMode.ALL))], [("ReadFiles.Mode", "All")]),
        (
            [replace(PUBLIC, write=FileRule(mode=FileMode.ROOTS, roots=(ROOT,)))],
            [("WriteFiles.Roots", "/srv/a")],
        ),
        (
            [
                replace(PUBLIC, attach=FileRule(mode=FileMode.ROOTS, roots=(BELOW,))),
                replace(TEAM, attach=FileRule(mode=FileMode.ROOTS, roots=(LINKED,))),
            ],
            [],
        ),
    ],
)
def test_what_is_wider(changed: list[AudienceProfile], expected: list[tuple[str, str]]) -> None:
    assert [(key, what) for _, key, what in found(*changed)] == expected


@pytest.mark.requirement("profiles.monotone")
def test_single_tools_of_servers_count() -> None:
    wide = replace(PERSONAL, server_tools={"git": frozenset({"log"}), "web": frozenset({"get"})})
    assert found(wide) == []
    team = replace(TEAM, allowed_servers=frozenset({"git"}))
    assert found(wide, team) == [(Audience.TEAM, "McpServerToolGrants", "all tools of git")]
    narrow = replace(team, server_tools={"git": frozenset({"log", "push"})})
    assert found(wide, narrow) == [(Audience.TEAM, "McpServerToolGrants", "push of git")]
    assert found(wide, replace(team, server_tools={"git": frozenset({"log"})})) == []


def test_both_audiences_are_named() -> None:
    mode = replace(PERSONAL, write=FileRule(mode=FileMode.NONE))
    assert widenings((PUBLIC, TEAM, mode)) == (
        Widening(narrow=Audience.TEAM, wide=Audience.PERSONAL, key="WriteFiles.Mode", what="Roots"),
    )
