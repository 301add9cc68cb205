"""Public is never wider than Team, Team never wider than Personal: finds where that is broken.

Checked when a configuration is loaded, on profiles as they are in effect (reference 2).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netclaw.core.authority import Audience
from netclaw.core.authz.path_access import FileMode
from netclaw.core.authz.profiles import MANAGED_TOOLS, AudienceProfile, FileRule, ListMode
from netclaw.core.path_rules import is_below

ORDER = (Audience.PUBLIC, Audience.TEAM, Audience.PERSONAL)
"""From the narrowest to the widest."""

_WIDTH = (FileMode.NONE, FileMode.ROOTS, FileMode.ALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Widening:
    """One thing that a narrower audience may use and a wider one may not."""

    narrow: Audience
    wide: Audience
    key: str
    """The configuration key below both profiles."""
    what: str
    """What only the narrower one has, in a few words."""


def widenings(profiles: Sequence[AudienceProfile]) -> tuple[Widening, ...]:
    """Everything that breaks the order, in a stable order; none if the profiles keep it."""
    known = {profile.audience: profile for profile in profiles}
    pairs = itertools.pairwise(ORDER)
    return tuple(
        Widening(narrow=narrow, wide=wide, key=key, what=what)
        for narrow, wide in pairs
        for key, what in _differences(known[narrow], known[wide])
    )


def _differences(narrow: AudienceProfile, wide: AudienceProfile) -> Iterator[tuple[str, str]]:
    yield from _tools(narrow, wide)
    yield from _servers(narrow, wide)
    yield from _files("ReadFiles", narrow.read, wide.read)
    yield from _files("WriteFiles", narrow.write, wide.write)
    yield from _files("AttachFiles", narrow.attach, wide.attach)
    kinds = narrow.attachments.categories - wide.attachments.categories
    if kinds:
        yield "ChannelAttachments.AllowedCategories", ", ".join(sorted(kinds))


def _tools(narrow: AudienceProfile, wide: AudienceProfile) -> Iterator[tuple[str, str]]:
    if wide.tools_mode is ListMode.ALL:
        return
    if narrow.tools_mode is ListMode.ALL:
        yield "ToolsMode", "all tools"
        return
    more = (narrow.allowed_tools & MANAGED_TOOLS) - wide.allowed_tools
    if more:
        yield "AllowedTools", ", ".join(sorted(more))


def _servers(narrow: AudienceProfile, wide: AudienceProfile) -> Iterator[tuple[str, str]]:
    if wide.servers_mode is not ListMode.ALL:
        if narrow.servers_mode is ListMode.ALL:
            yield "McpServersMode", "all servers"
            return
        more = narrow.allowed_servers - wide.allowed_servers
        if more:
            yield "AllowedMcpServers", ", ".join(sorted(more))
    for server, listed in sorted(wide.server_tools.items()):
        if not narrow.allows_server(server):
            continue
        own = narrow.server_tools.get(server)
        tools = ["all tools"] if own is None else sorted(own - listed)
        if tools:
            yield "McpServerToolGrants", f"{', '.join(tools)} of {server}"


def _files(key: str, narrow: FileRule, wide: FileRule) -> Iterator[tuple[str, str]]:
    if _WIDTH.index(narrow.mode) > _WIDTH.index(wide.mode):
        yield f"{key}.Mode", str(narrow.mode)
    elif narrow.mode is wide.mode is FileMode.ROOTS:
        held = [folder for root in wide.roots for folder in (root.canonical, root.resolved)]
        for root in narrow.roots:
            if not any(is_below(root.resolved, folder) for folder in held):
                yield f"{key}.Roots", root.canonical
