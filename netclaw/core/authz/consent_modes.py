"""Finds the consent mode of a call: the most exact configured answer, then the default.

Order (reference 2): the matcher key, the tool by any of its names, the MCP server, the rule that
keeps some closed, the audience's default. Personal shell, and for every audience changes to the
control plane (`startup_places`), ask unless exactly they are configured otherwise: an Auto for more
than that does not silence it, a Deny counts. Looking at a
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
        found = _known(modes.tools[name]) if name in modes.tools else None
        is_wider = closed and name != closed and found is ConsentMode.AUTO
        if found is not None and not is_wider:
            return found
    if question.server and question.server in modes.servers:
        return _known(modes.servers[question.server])
    default = _known(modes.default)
    if closed:
        return ConsentMode.APPROVAL if default is ConsentMode.AUTO else default
    is_free = question.tool == POLL and not question.server
    return ConsentMode.AUTO if is_free and default is ConsentMode.APPROVAL else default


def _closed_by_rule(audience: Audience, question: ModeQuestion) -> str:
    """The one key that can open what is kept closed; empty for anything else."""
    if question.server:
        return ""
    if question.tool == SHELL:
        return SHELL if audience is Audience.PERSONAL else ""
    if question.is_control_plane and question.tool in _WRITERS:
        return f"{question.tool}:{CONTROL_PLANE}"
    return ""


def _known(text: str) -> ConsentMode:
    try:
        return ConsentMode(text)
    except ValueError:
        raise UnknownModeError("a consent mode is not known") from None
