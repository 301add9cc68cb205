"""Finds the consent mode of a call: the most exact configured answer, then the default.

Order (reference 2): the matcher key, the tool by any of its names, the MCP server, the rule that
keeps Personal closed, the audience's default. Personal shell and changes to the control plane ask
unless exactly they are configured otherwise; a default of Auto does not silence that. Looking at a
background job asks only if exactly it is configured so: its command was consented to (reference 7).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netclaw.core.authority import Audience
from netclaw.core.authz.profiles import POLL, SHELL, AudienceProfile, ConsentMode

CONTROL_PLANE = "control-plane"
_WRITERS = frozenset({"file_write", "file_edit"})


class UnknownModeError(ValueError):
    """A configured consent mode is none of the known ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeQuestion:
    """The call whose mode is wanted. `server` is empty for a first-party tool."""

    tool: str
    server: str = ""
    is_control_plane: bool = False

    def names(self) -> Iterator[str]:
        """All keys under which the tool itself may be configured, the most exact first."""
        if self.is_control_plane:
            yield f"{self.tool}:{CONTROL_PLANE}"
        if self.server:
            yield f"mcp:{self.server}:{self.tool}"
            yield f"{self.server}__{self.tool}"
            yield f"{self.server}/{self.tool}"
        else:
            yield self.tool


def mode_of(profile: AudienceProfile, question: ModeQuestion) -> ConsentMode:
    """The mode. Raises `UnknownModeError`: a word nobody knows must not widen anything."""
    modes = profile.consent
    closed = _closed_by_rule(profile.audience, question)
    for name in question.names():
        if name in modes.tools and not (closed and name != closed):
            return _known(modes.tools[name])
    if question.server and question.server in modes.servers:
        return _known(modes.servers[question.server])
    if closed:
        return ConsentMode.APPROVAL
    default = _known(modes.default)
    is_free = question.tool == POLL and not question.server
    return ConsentMode.AUTO if is_free and default is ConsentMode.APPROVAL else default


def _closed_by_rule(audience: Audience, question: ModeQuestion) -> str:
    """The one key that can open what Personal keeps closed; empty for anything else."""
    if audience is not Audience.PERSONAL or question.server:
        return ""
    if question.tool == SHELL:
        return SHELL
    if question.is_control_plane and question.tool in _WRITERS:
        return f"{question.tool}:{CONTROL_PLANE}"
    return ""


def _known(text: str) -> ConsentMode:
    try:
        return ConsentMode(text)
    except ValueError:
        raise UnknownModeError("a consent mode is not known") from None
