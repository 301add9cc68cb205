"""Who is served in a channel, as whom and with which trust: nobody who was not allowed.

Only canonical ids count; a name that somebody gives himself never does (S0 Channels, issue 7 item
2).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.adapters.driver import ChannelConfig, Place, Received
from netclaw.core.authority import Audience, Principal

DIRECT_MESSAGES = "dm"
"""The key of `ChannelAudiences` that stands for all direct messages."""


class Refusal(StrEnum):
    """Why somebody is not served: stable words of the log, never shown to the person."""

    NO_SENDER = "no_sender"
    CHANNEL = "channel_not_allowed"
    USER = "user_not_allowed"
    DIRECT = "DmNotAllowed"
    AUDIENCE = "unknown_audience"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """As whom somebody is served."""

    principal: Principal
    audience: Audience


def judge(config: ChannelConfig, received: Received) -> Standing | Refusal:
    """Whether a message's sender is served where it was written."""
    refusal = _refusal(config, received)
    if refusal is not None:
        return refusal
    try:
        audience = Audience(_audience(config, received))
    except ValueError:
        return Refusal.AUDIENCE
    is_listed = received.sender_id in config.allowed_user_ids
    return Standing(
        principal=Principal.TRUSTED if is_listed else Principal.UNTRUSTED, audience=audience
    )


def serves_channel(config: ChannelConfig, channel_id: str) -> bool:
    """Whether a channel is one of those that are served; nothing listed serves none."""
    if not channel_id:
        return False
    return channel_id in config.allowed_channel_ids or channel_id == config.default_channel_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a message of our own accord may go."""

    id: str
    place: Place
    audience: Audience
    """What the thread's session is created with."""


def judge_destination(config: ChannelConfig, wanted: str) -> Destination | Refusal:
    """Whether we may begin a thread there: what is not listed by its id is refused.

    A channel that is served by default is listed by that. A person is written to only if named in
    `AllowedUserIds`, also where everybody may write to us.
    """
    if serves_channel(config, wanted):
        place = Place.CHANNEL
    elif wanted not in config.allowed_user_ids:
        return Refusal.CHANNEL
    elif not config.allow_direct_messages:
        return Refusal.DIRECT
    else:
        place = Place.DIRECT
    configured = config.channel_audiences.get(wanted)
    if configured is None and place is Place.DIRECT:
        configured = config.channel_audiences.get(DIRECT_MESSAGES)
    try:
        audience = Audience(configured or Audience.TEAM)
    except ValueError:
        return Refusal.AUDIENCE
    return Destination(id=wanted, place=place, audience=audience)


def may_be_found(config: ChannelConfig, wanted: str, place: Place) -> bool:
    """Whether a look-up shows a person or a place: what may not be written to is not told of."""
    found = judge_destination(config, wanted)
    return isinstance(found, Destination) and found.place is place


def _refusal(config: ChannelConfig, received: Received) -> Refusal | None:
    if not received.sender_id:
        return Refusal.NO_SENDER
    if received.thread.place is Place.DIRECT:
        if not config.allow_direct_messages:
            return Refusal.DIRECT
    elif not serves_channel(config, received.thread.channel_id):
        return Refusal.CHANNEL
    if config.allowed_user_ids and received.sender_id not in config.allowed_user_ids:
        return Refusal.USER
    return None


def _audience(config: ChannelConfig, received: Received) -> str:
    """What is configured for the place, else Team for what was listed, else Public."""
    audiences, is_direct = config.channel_audiences, received.thread.place is Place.DIRECT
    configured = audiences.get(received.thread.channel_id)
    if configured is None and is_direct:
        configured = audiences.get(DIRECT_MESSAGES)
    if configured is not None:
        return configured
    # A channel that is served was listed. A direct message is vetted by its sender alone.
    is_listed = not is_direct or received.sender_id in config.allowed_user_ids
    return Audience.TEAM if is_listed else Audience.PUBLIC
