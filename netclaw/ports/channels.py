"""Channels as tools see them: a message that begins a thread, and people and places by name.

The supervisor answers, and the channel's adapter acts. Whether a place or person may be written to
is the channel's configuration, judged by both.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from netclaw.core.errors import NotFoundError
from netclaw.core.ids import CallId
from netclaw.ports.sessions import Asking

MAX_HITS = 10
MAX_MESSAGE_CHARS = 16_000


class PostState(StrEnum):
    """What became of a message."""

    QUEUED = "queued"
    SENT = "sent"
    FAILED = "failed"


class Wanted(StrEnum):
    """What a name is looked for among."""

    USERS = "users"
    PLACES = "places"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostOrder:
    """A message of a call for a place or person of a channel."""

    asking: Asking
    call_id: CallId
    channel: str
    destination: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PostQuestion:
    """What became of the message of a call, asked for so long."""

    call_id: CallId
    patience_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PostReport:
    """The answer to both; `session_key` is the thread's session once it was sent."""

    state: PostState
    session_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameQuestion:
    """Who or what of a channel has a name like this."""

    asking: Asking
    channel: str
    wanted: Wanted
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A person or place that may be written to."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """At most `MAX_HITS`."""

    hits: tuple[Hit, ...] = ()


class Channels(Protocol):
    """All channels, for one call; every method raises a `NetclawError` to refuse."""

    async def post(self, *, channel: str, destination: str, text: str) -> PostReport:
        """Send a message; returns once it is durable. The same call sends it once."""

    async def wait(self, patience_s: float) -> PostReport:
        """What became of this call's message; `queued` if it was not sent in time."""

    async def find(self, *, channel: str, wanted: Wanted, text: str) -> Hits:
        """People or places by name."""


class NoChannels:
    """Where no channel can be: the context of a call that is only judged."""

    async def post(self, *, channel: str, destination: str, text: str) -> PostReport:
        """See `Channels`."""
        del channel, destination, text
        raise _gone()

    async def wait(self, patience_s: float) -> PostReport:
        """See `Channels`."""
        del patience_s
        raise _gone()

    async def find(self, *, channel: str, wanted: Wanted, text: str) -> Hits:
        """See `Channels`."""
        del channel, wanted, text
        raise _gone()


def _gone() -> NotFoundError:
    return NotFoundError("Channels cannot be asked for here.")


NO_CHANNELS = NoChannels()
