"""The channel's events: one connection after another, each going on where the last one ended."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

from netclaw.adapters.driver import (
    Clicked,
    Health,
    Incoming,
    Received,
    RefusedFailure,
    TransientFailure,
)
from netclaw.adapters.mattermost.client import Client, number, text
from netclaw.adapters.mattermost.connection import PING_S, Connection, End, Resume
from netclaw.adapters.mattermost.payloads import (
    Self,
    order_of_post,
    read_post,
    read_posted,
)
from netclaw.adapters.mattermost.places import Places
from netclaw.adapters.mattermost.posts import posts_since

_log = logging.getLogger(__name__)

RESUMES = 3
RESUMES_IN_S = 60.0
"""More than so many are left to the host, which waits longer every time."""
MARGIN_MS = 10_000
"""Posts of so long before the newest one that was seen are asked for too: posts may come late."""
MOST_PRESSES = 1000
ATTEMPTS = 5
SHORTEST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 30.0
"""Of what a server that is asked too often wants to be waited."""
LIMITED = "Mattermost does not tell what was missed: it is rate limiting."
LOST = "Mattermost's event connection was lost."

WhoAmI = Callable[[], Awaitable[Self]]
Json = Mapping[str, object]
_Item = Incoming | tuple[Connection, End] | Json
"""A press, the end of a connection, or a post as the server shows it."""


async def nothing_to_acknowledge() -> None:
    """Mattermost sends nothing again and wants no acknowledgement."""


def incoming(event: Received | Clicked) -> Incoming:
    """An event as the host takes it."""
    return Incoming(event=event, acknowledge=nothing_to_acknowledge)


class Stream:
    """Gives events, and knows how the connection is."""

    def __init__(
        self, client: Client, places: Places, who_am_i: WhoAmI, *, ping_s: float = PING_S
    ) -> None:
        self._client = client
        self._places = places
        self._who_am_i = who_am_i
        self._ping_s = ping_s
        self._resume = Resume()
        self._presses: deque[Incoming] = deque(maxlen=MOST_PRESSES)
        """What was taken and not given yet when a call of `events` ended."""
        self._line: _Line | None = None

    @property
    def health(self) -> Health:
        """The connection's, or that there is none."""
        return self._line.health if self._line is not None else Health.DISCONNECTED

    async def events(self) -> AsyncGenerator[Incoming, None]:
        """See `Driver.events`; a connection that can be resumed is, inside."""
        line = _Line(self._client, self._places, self._resume, self._presses, ping_s=self._ping_s)
        before, self._line = self._line, line
        try:
            if before is not None:
                await before.close()
            await line.connect(await self._who_am_i())
            while self._presses:
                line.put(self._presses.popleft())
            while True:
                item = await line.next()
                if item is not None:
                    yield item
                else:
                    line.require_patience()
                    await line.connect(await self._who_am_i())
        finally:
            # Of this call alone: it may have been called anew meanwhile.
            await line.close()
            if self._line is line:
                self._line = None

    def put(self, press: Clicked) -> bool:
        """Give a press, which comes another way; False if nobody reads."""
        if self._line is None or self._line.health is not Health.READY:
            return False
        self._line.put(incoming(press))
        return True

    async def close(self) -> None:
        """End the connection; safe to repeat."""
        line, self._line = self._line, None
        if line is not None:
            await line.close()


class _Line:
    """The connections of one call of `events`, one at a time."""

    def __init__(
        self,
        client: Client,
        places: Places,
        resume: Resume,
        presses: deque[Incoming],
        *,
        ping_s: float,
    ) -> None:
        self._client = client
        self._places = places
        self._resume = resume
        self._presses = presses
        self._ping_s = ping_s
        self._me = Self(user_id="", username="")
        self._found: asyncio.Queue[_Item] = asyncio.Queue()
        self._held: list[Json] | None = None
        """Live posts that came while older ones are asked for."""
        self._current: Connection | None = None
        self._lost_at: deque[float] = deque(maxlen=RESUMES)
        self.health = Health.CONNECTING

    async def connect(self, me: Self) -> None:
        """Make a connection that goes on where the last one ended, and ask for what it cannot."""
        self._me = me
        self.health = Health.CONNECTING
        self._held = []
        connection = Connection(
            self._client,
            self._resume,
            take=self._take,
            tell=lambda whose, end: self._found.put_nowait((whose, end)),
            ping_s=self._ping_s,
        )
        before, self._current = self._current, connection
        if before is not None:
            await before.close()
        server_ms = await connection.connect()
        since, self._resume.behind_since_ms = self._resume.behind_since_ms, None
        if since is not None:
            try:
                await self._ask_for_missed(since - MARGIN_MS)
            except BaseException:
                self._resume.fall_behind(since)
                raise
        # What was made from the connection on comes on it, and no later than that is known of what
        # was asked for, channel by channel.
        begun_ms = server_ms or (0 if self._resume.newest_at_ms else time.time_ns() // 1_000_000)
        self._resume.newest_at_ms = max(self._resume.newest_at_ms, begun_ms)
        held, self._held = self._held, None
        for post in held:
            self._found.put_nowait(post)
        self.health = Health.READY

    async def next(self) -> Incoming | None:
        """The next event; None when the connection has to be made anew."""
        while True:
            item = await self._found.get()
            if isinstance(item, Incoming):
                return item
            if isinstance(item, tuple):
                if item[0] is self._current:
                    self._end(item[1])
                    return None
                continue
            try:
                received = await self._read(item)
            except BaseException:
                self._miss(item)
                raise
            if received is not None:
                return incoming(received)

    def put(self, item: Incoming) -> None:
        """Give an event that came another way."""
        self._found.put_nowait(item)

    def require_patience(self) -> None:
        """Leave it to the host, which waits longer every time, if it was lost too often."""
        now = time.monotonic()
        if len(self._lost_at) == RESUMES and now - self._lost_at[0] < RESUMES_IN_S:
            raise TransientFailure(LOST)
        self._lost_at.append(now)

    async def close(self) -> None:
        """End what there is; safe to repeat."""
        self.health = Health.DISCONNECTING
        current, self._current = self._current, None
        if current is not None:
            await current.close()
        self._leave_rest()
        self.health = Health.DISCONNECTED

    def _leave_rest(self) -> None:
        """What nobody read any more is the next call's: the server counts posts as sent, and
        whoever pressed was told that it is taken."""
        for post in self._held or ():
            self._miss(post)
        self._held = None
        while not self._found.empty():
            item = self._found.get_nowait()
            if isinstance(item, Incoming):
                self._presses.append(item)
            elif not isinstance(item, tuple):
                self._miss(item)

    def _miss(self, post: Json) -> None:
        """It has to be asked for once more."""
        self._resume.fall_behind(number(post, "create_at") or self._resume.newest_at_ms)

    def _end(self, end: End) -> None:
        _log.info("the event connection ended: %s", end.value)
        self.health = Health.CONNECTING

    def _take(self, event: str, data: Json) -> None:
        """An event of the connection; all but new posts are of no interest."""
        if event != "posted":
            return
        post, channel = read_posted(data)
        if channel is not None:
            self._places.learn(channel)
        self._resume.newest_at_ms = max(self._resume.newest_at_ms, number(post, "create_at"))
        if self._held is not None:
            self._held.append(post)
        else:
            self._found.put_nowait(post)

    async def _read(self, post: Json) -> Received | None:
        channel_id = text(post, "channel_id")
        if not channel_id:
            return None
        try:
            channel = await self._places.channel(channel_id)
        except RefusedFailure:
            return None
        return read_post(post, channel, self._me)

    async def _ask_for_missed(self, since: int) -> None:
        """Posts of every channel that were made while nobody listened, oldest first.

        What is asked for may have been given before: the host knows each by its id.
        """
        missed: list[Json] = []
        try:
            channels = await self._places.all()
        except RefusedFailure as failure:
            # Servers before 6.1 do not tell. What comes from now on is worth more.
            _log.warning("what was missed stays so: %s", failure.sentence)
            return
        for channel in channels:
            if channel.last_post_at < since:
                continue
            self._places.learn(channel)
            try:
                missed += await self._posts_since(channel.id, since)
            except RefusedFailure as failure:
                # It is closed, or not ours any more: no reason to go without the others.
                _log.warning("what was missed in %s stays so: %s", channel.id, failure.sentence)
        for post in sorted(missed, key=order_of_post):
            self._found.put_nowait(post)

    async def _posts_since(self, channel_id: str, since: int) -> list[Json]:
        """A channel's; many channels are more than a server wants to be asked for at once, and who
        began anew every time would never be through."""
        for _ in range(ATTEMPTS):
            try:
                return await posts_since(self._client, channel_id, since)
            except TransientFailure as failure:
                if failure.retry_after_s is None or failure.retry_after_s > LONGEST_PAUSE_S:
                    raise
                await asyncio.sleep(max(failure.retry_after_s, SHORTEST_PAUSE_S))
        raise TransientFailure(LIMITED)
