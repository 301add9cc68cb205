"""What a channel has to provide; everything else is shared (docs/developer/adding-a-channel.md).

A driver turns a platform's events into the dataclasses here and performs what the host asks. It
decides nothing: who may speak, which session a message belongs to, what is sent when and again is
the host's business.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

from netclaw.adapters.channel_config import ChannelConfig as ChannelConfig


class DriverFailure(Exception):
    """Something the platform did not do; `sentence` is stable text without secrets."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class FatalFailure(DriverFailure):
    """Trying again cannot help: a wrong token, a missing permission, an unknown address.

    `fix` is what mends it, one sentence for the operator, where the driver knows it.
    """

    def __init__(self, sentence: str, *, fix: str = "") -> None:
        super().__init__(sentence)
        self.fix = fix


class TransientFailure(DriverFailure):
    """It may work later; `retry_after_s` is what the platform asked for, if it did."""

    def __init__(self, sentence: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(sentence)
        self.retry_after_s = retry_after_s


class RefusedFailure(DriverFailure):
    """This one post cannot be made, ever: the channel is gone, the text is not accepted."""


class Place(StrEnum):
    """What kind of conversation a message was written in."""

    CHANNEL = "channel"
    DIRECT = "direct"
    UNKNOWN = "unknown"
    """Of a thread that the host knows by its address alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file at the platform, not downloaded; `handle` is the driver's own."""

    handle: str
    name: str
    media_type: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A conversation: the session is `{channel_id}/{thread_id}`, for ever."""

    channel_id: str
    thread_id: str
    place: Place
    boundary: str
    """`slack:<team>/<channel>` and the like (protocol "Trust boundary")."""

    @property
    def address(self) -> str:
        """Where replies go; also the session's id."""
        return f"{self.channel_id}/{self.thread_id}"

    @classmethod
    def at(cls, address: str) -> Thread:
        """A thread by its address, as good as another one to post to; its boundary is not known."""
        channel_id, _, thread_id = address.partition("/")
        return cls(channel_id=channel_id, thread_id=thread_id, place=Place.UNKNOWN, boundary="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A message of the platform, by canonical ids only."""

    event_id: str
    """Names this message for ever, so that a redelivery is known after a restart."""
    thread: Thread
    sender_id: str
    """Empty: the platform names none, which is denied."""
    text: str
    at_ms: int
    is_bot: bool = False
    is_own: bool = False
    is_mention: bool = False
    is_file_share: bool = False
    """A file was put into the conversation, where that counts as addressing us (Slack)."""
    is_in_thread: bool = False
    """Written below an earlier message, not beginning a conversation."""
    mention: str = ""
    """The mark that addresses us, as it stands in the text; removed before the model sees it."""
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Clicked:
    """A person pressed a button of a prompt of ours."""

    token: str
    """What the button carried (see `Button`)."""
    sender_id: str
    post_id: str
    thread: Thread


Acknowledge = Callable[[], Awaitable[None]]
"""Tells the platform that an event need not come again: called after its admission, and for what
is refused for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """One event with its acknowledgement."""

    event: Received | Clicked
    acknowledge: Acknowledge


class Health(StrEnum):
    """A driver's connection."""

    DISCONNECTED = "disconnected"
    CONNECTING = "connecting"
    READY = "ready"
    DISCONNECTING = "disconnecting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What a platform can do; the host adapts to it."""

    text_limit: int
    """Characters of one post."""
    has_buttons: bool
    has_edit: bool
    has_status: bool
    """A sign that somebody is at work: a thread status, a typing indicator."""
    has_titles: bool = False
    """Whether threads have names (`set_title`)."""
    status_refresh_s: float = 0.0
    """Set the status again after so long; 0: it stays."""
    enforces_keys: bool = False
    """Whether the platform itself refuses a second post of one key; otherwise a retry looks the
    first one up (`find_post`)."""
    file_limit_bytes: int = 0
    """Size of one uploaded file; 0: files cannot be sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """One choice of a prompt; `token` comes back in `Clicked`, at most 100 characters."""

    token: str
    label: str
    is_danger: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One message to make. `key` names it for ever (row and part of the outbox, or the prompt)."""

    thread: Thread
    key: str
    text: str
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Who we are there, as a live check of the token answered."""

    user_id: str
    name: str
    scope: str = ""
    """Team, guild or server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A person or place that a lookup gave."""

    id: str
    name: str


class Driver(Protocol):
    """One connection to one platform. Made by the channel's `create(config)`.

    Every method may raise a `DriverFailure` of the kinds above and no other exception for what the
    platform or the network did. Cancelling any of them is safe.
    """

    abilities: Abilities

    async def check(self) -> Account:
        """Ask the platform who we are: the live test of the token; raises what is wrong with it."""

    def events(self) -> AsyncIterator[Incoming]:
        """Connect and give events until the connection ends by itself; then it may be called anew.

        Reconnects that the platform's own protocol provides for (resume) happen inside. Raises
        `FatalFailure` or `TransientFailure`. An event whose acknowledgement was not called comes
        again, if the platform can do that.
        """

    def health(self) -> Health:
        """The connection as of now."""

    async def post(self, post: Post) -> str:
        """Make one message; returns its id. The same key again makes no second one, where the
        platform enforces that."""

    async def find_post(self, thread: Thread, key: str) -> str | None:
        """The id of a message of ours by its key, where the platform can tell."""

    async def edit(
        self, thread: Thread, post_id: str, text: str, buttons: tuple[Button, ...]
    ) -> None:
        """Replace a message of ours; `RefusedFailure` if it is gone."""

    async def delete(self, thread: Thread, post_id: str) -> None:
        """Remove a message of ours; one that is gone is fine."""

    async def set_status(self, thread: Thread, text: str) -> None:
        """Show that we are at work on a thread, or with an empty text that we are not."""

    async def set_title(self, thread: Thread, title: str) -> None:
        """Name the thread, where threads have names; does nothing elsewhere."""

    async def open_direct(self, user_id: str) -> str:
        """The id of the direct conversation with a person, begun if need be; it serves as a
        `channel_id`. `RefusedFailure` if there can be none."""

    async def begin_thread(self, channel_id: str, post: str, key: str) -> Thread:
        """Post something of our own accord where nobody wrote before: the thread it opens.

        A thread may be known by the place alone (one conversation for each person): then this
        posts into it.
        """

    async def find_thread(self, channel_id: str, key: str) -> Thread | None:
        """What an earlier `begin_thread` with this key opened, perhaps by another process, where
        the platform can tell."""

    async def backfill(self, thread: Thread, *, after: str, limit: int) -> tuple[Received, ...]:
        """Messages of a thread, oldest first, ours included: the first ones behind an event id, or
        with "" the newest ones."""

    async def download(self, attachment: Attachment, target: Path, limit_bytes: int) -> None:
        """Fetch a file into a new file; `RefusedFailure` beyond the limit."""

    async def upload(self, thread: Thread, path: Path, name: str, key: str) -> str:
        """Send a file to a thread; returns the id of the post that holds it, or of the file.

        `find_post` finds it by its key, where the platform can tell. `RefusedFailure` for a file
        that is not taken.
        """

    async def find_users(self, text: str) -> tuple[Found, ...]:
        """People by name, at most ten."""

    async def find_places(self, text: str) -> tuple[Found, ...]:
        """Channels by name, at most ten."""

    async def close(self) -> None:
        """End the connection; safe at any time, more than once."""


Create = Callable[[ChannelConfig], Driver]
"""What a channel's module exports as `create`."""


@runtime_checkable
class Thorough(Protocol):
    """A driver that can try more than `check` does, which runs at every connect: for `doctor`."""

    async def check_rest(self) -> None:
        """Try what `check` does not, without a connection for events; raises what is wrong."""
