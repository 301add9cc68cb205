"""Whether a message is for us: where netclaw was addressed, and in threads where it already is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.adapters.driver import ChannelConfig, Place, Received

MENTION_REQUIRED = "ChannelMentionRequired"
"""The reason in the log of a message that did not address us where it had to."""


class Verdict(StrEnum):
    """What becomes of a message."""

    START_OR_CONTINUE = "start-or-continue"
    CONTINUE_ONLY = "continue-only"
    """It belongs to a session if there is one; it is no reason to make one."""
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The verdict; `reason` says why a message is ignored."""

    verdict: Verdict
    reason: str = ""


_START = Route(verdict=Verdict.START_OR_CONTINUE)
_CONTINUE = Route(verdict=Verdict.CONTINUE_ONLY)
_IGNORE = Route(verdict=Verdict.IGNORE, reason=MENTION_REQUIRED)


def route(config: ChannelConfig, received: Received, *, has_session: bool) -> Route:
    """Decide for a message of somebody who is served; `has_session`: its thread's session exists.

    A file that was put into a channel stands for a mention where the platform's users expect that
    (`is_file_share`).
    """
    is_addressed = received.is_mention or received.is_file_share
    if received.thread.place is Place.DIRECT:
        return _START if is_addressed or not config.mention_required_in_dm else _IGNORE
    if is_addressed:
        return _START
    if received.is_in_thread and has_session:
        return _IGNORE if config.mention_required_in_thread else _CONTINUE
    return _IGNORE if config.mention_only else _START
