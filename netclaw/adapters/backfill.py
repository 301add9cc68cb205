"""Reads what was written in a thread without being meant for us, or while nobody listened.

It comes with the next message of the thread as quoted context: one input, in which only the writer
of that message asks for something. How far a thread was read, and what was quoted, is a cursor
that is stored with the message's admission; an event that was quoted and then comes by itself is
stale (issue 7 items 2 and 3).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from netclaw.adapters.acl import Standing, judge
from netclaw.adapters.bounded import bounded
from netclaw.adapters.driver import ChannelConfig, DriverFailure, Received, TransientFailure
from netclaw.adapters.normalise import Quoted
from netclaw.adapters.parts import HostContext

_log = logging.getLogger(__name__)

FETCHED = 200
"""Messages of a thread that are asked for at once."""
QUOTED = 50
"""Messages that one input quotes; the newest ones."""
REMEMBERED = 100
"""Ids of quoted messages in a cursor."""
THREADS = 2000
"""Whose state is remembered: a cursor may name a hundred messages."""
ATTEMPTS = 2
PAUSE_S = 1.0
LONGEST_PAUSE_S = 5.0
CURSOR_CHARS = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """How far a thread was read."""

    after: str = ""
    """The newest event that was read; empty: none."""
    at_ms: int = 0
    adopted: tuple[str, ...] = ()
    """Events that were quoted, newest last: they are stale if they come by themselves."""

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """A cursor as it was stored; one that cannot be read is an empty one."""
        try:
            stored = json.loads(text) if text else {}
            return cls(
                after=str(stored.get("after", "")),
                at_ms=int(stored.get("at", 0)),
                adopted=tuple(map(str, stored.get("adopted", ()))),
            )
        except (ValueError, TypeError, AttributeError):
            return cls()

    def moved(self, received: Received, adopted: tuple[str, ...] = ()) -> Cursor:
        """The cursor once a message is admitted; it never moves back."""
        is_newer = received.at_ms >= self.at_ms
        return Cursor(
            after=received.event_id if is_newer else self.after,
            at_ms=max(received.at_ms, self.at_ms),
            adopted=(*self.adopted, *adopted)[-REMEMBERED:],
        )

    def __str__(self) -> str:
        """As it is stored; what was quoted longest ago goes first if it is too long."""
        adopted = list(self.adopted)
        while True:
            text = json.dumps(
                {"after": self.after, "at": self.at_ms, "adopted": adopted}, separators=(",", ":")
            )
            if len(text) <= CURSOR_CHARS or not adopted:
                return text
            del adopted[: len(adopted) // 2 + 1]


@dataclass(slots=True, kw_only=True)
class ThreadState:
    """What this process knows of a thread that has a session."""

    cursor: Cursor
    read_in: int = -1
    """The connection in which it was read to its end; -1: in none of this process."""
    is_behind: bool = False
    """Whether something was written that was not taken."""


class Threads:
    """The threads that this process met last."""

    def __init__(self, *, limit: int = THREADS) -> None:
        self._limit = limit
        self._states: OrderedDict[str, ThreadState] = OrderedDict()

    def get(self, address: str) -> ThreadState | None:
        """What is known of a thread with a session."""
        state = self._states.get(address)
        if state is not None:
            self._states.move_to_end(address)
        return state

    def put(self, address: str, state: ThreadState) -> ThreadState:
        """Keep what is known of a thread."""
        self._states[address] = state
        self._states.move_to_end(address)
        if len(self._states) > self._limit:
            self._states.popitem(last=False)
        return state

    def forget(self, address: str) -> None:
        """Its session is gone."""
        self._states.pop(address, None)


def needs_reading(received: Received, state: ThreadState | None, connection: int) -> bool:
    """Whether a thread may hold what was not read, before this message is taken.

    A message that begins a conversation has nothing before it. Where a session exists, the thread
    was read to its end as long as the connection held and every message was taken.
    """
    if state is None:
        return received.is_in_thread
    return state.read_in != connection or state.is_behind


def gap_before(
    found: tuple[Received, ...], received: Received, cursor: Cursor, config: ChannelConfig
) -> tuple[Received, ...]:
    """What of a thread's messages is quoted with `received`; oldest first.

    Not what came later, which comes by itself; not what was quoted or admitted under the cursor;
    not the words of people who are not served. Our own are in the session's history, unless nothing
    of the thread was read yet.
    """
    taken = {received.event_id, cursor.after, *cursor.adopted}
    is_first = not cursor.after
    gap: list[Received] = []
    for message in found:
        if message.event_id in taken or message.at_ms > received.at_ms:
            continue
        if not (message.text.strip() or message.attachments):
            continue
        is_served = isinstance(judge(config, message), Standing)
        if is_first if message.is_own else is_served:
            taken.add(message.event_id)
            gap.append(message)
    gap.sort(key=lambda message: message.at_ms)
    return tuple(gap[-QUOTED:])


def quoted(gap: tuple[Received, ...]) -> tuple[Quoted, ...]:
    """The gap as context."""
    return tuple(
        Quoted(
            sender_id=message.sender_id,
            text=message.text,
            at_ms=message.at_ms,
            is_own=message.is_own,
            is_to_us=message.is_mention and not message.is_own,
            files=len(message.attachments),
        )
        for message in gap
    )


def speakers(gap: tuple[Received, ...]) -> tuple[str, ...]:
    """Whose words are quoted, each once, in the order in which they spoke; not we."""
    return tuple(dict.fromkeys(message.sender_id for message in gap if not message.is_own))


class Backfill:
    """Fetches gaps; a gap that cannot be had is asked for again with the next message."""

    def __init__(self, context: HostContext, *, pause_s: float = PAUSE_S) -> None:
        self._context = context
        self._pause_s = pause_s

    async def gap(
        self,
        received: Received,
        cursor: Cursor,
        is_admitted: Callable[[Received], Awaitable[bool]],
    ) -> tuple[Received, ...] | None:
        """What is to be quoted with a message; None if the platform did not tell."""
        found = await self._fetch(received, cursor)
        if found is None:
            return None
        gap = gap_before(found, received, cursor, self._context.config)
        return tuple(
            [message for message in gap if message.is_own or not await is_admitted(message)]
        )

    async def _fetch(self, received: Received, cursor: Cursor) -> tuple[Received, ...] | None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                reading = self._context.driver.backfill(
                    received.thread, after=cursor.after, limit=FETCHED
                )
                return await bounded(reading)
            except TransientFailure as failure:
                _log.info("a thread was not read: %s", failure.sentence)
                pause_s = self._pause_s if failure.retry_after_s is None else failure.retry_after_s
                if attempt == ATTEMPTS or pause_s > LONGEST_PAUSE_S:
                    return None
                await asyncio.sleep(pause_s)
            except DriverFailure as failure:
                _log.info("a thread was not read: %s", failure.sentence)
                return None
            except Exception:  # noqa: BLE001 - a driver's fault costs the context alone
                _log.exception("a thread was not read")
                return None
        return None
