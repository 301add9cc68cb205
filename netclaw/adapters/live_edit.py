"""Shows a reply while it is made: one message, changed in place (decision 68; off by default).

The message is no delivery. The reply comes through the outbox like any other, and `outbound` asks
here for the message that it replaces; without one it posts. What was shown of a reply that does
not come, because its turn was stopped or cut, is taken away (decision 25).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field

from netclaw.adapters.bounded import bounded
from netclaw.adapters.channel_config import ChannelConfig
from netclaw.adapters.consent_results import close_stream
from netclaw.adapters.driver import DriverFailure, Post, RefusedFailure, Thread, TransientFailure
from netclaw.adapters.parts import HostContext
from netclaw.adapters.splitting import split
from netclaw.adapters.unfinished import LeftLive
from netclaw.core.errors import NetclawError
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.session.phase import Phase
from netclaw.wire.v1.common_pb2 import Output
from netclaw.wire.v1.gateway_pb2 import AttachRequest, ChannelNews, FindReplyRequest

_log = logging.getLogger(__name__)

OPTION = "live_edit"
EVERY_S = 1.0
LOOK_S = 5.0
"""How often it is asked what becomes of a turn's message: whether its reply comes."""
LONGEST_LOOK_S = 60.0
"""The same as long as the platform does not take it away."""
CURSOR = " \u258c"
NO_REPLY = "none"
CUT = "This reply was not finished."


def is_wanted(config: ChannelConfig) -> bool:
    """Whether the channel's section asks for it."""
    return config.options.get(OPTION, "").casefold() in ("true", "on", "yes", "1")


def key_of(turn_id: str, thread: Thread) -> str:
    """The key of a turn's message in a thread, short enough for every platform."""
    name = f"{turn_id} {thread.address}"
    return f"e.{hashlib.sha256(name.encode()).hexdigest()[:16]}"


@dataclass(slots=True, kw_only=True)
class _Live:
    """One turn's message in one thread."""

    session_id: str
    turn_id: str
    thread: Thread
    text: str = ""
    round: int = 0
    is_broken: bool = False
    """Some text of this round was missed: nothing more is shown of it."""
    is_hidden: bool = False
    """Nothing more is shown of it."""
    is_taken: bool = False
    """The reply replaces it."""
    post_id: str = ""
    shown: str = ""
    is_tried: bool = False
    is_new: asyncio.Event = field(default_factory=asyncio.Event)
    is_closed: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    """The turn is: whether a reply comes is decided."""
    has_news: asyncio.Event = field(default_factory=asyncio.Event)
    """It may be known by now whether a reply comes."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the platform is called, so that no change overtakes the reply."""

    def end(self) -> None:
        """The turn is over, or at least another one is under way."""
        self.is_over.set()
        self.has_news.set()

    def take(self, output: Output) -> None:
        """Some more of the turn."""
        if output.type == "resync":
            self.is_broken = True
        if output.type != "text_delta" or output.turn_id != self.turn_id:
            return
        if output.round != self.round:
            self.round, self.text, self.is_broken = output.round, "", False
        if not self.is_broken:
            self.text += output.text
            self.is_new.set()


class LiveEdits:
    """The live messages of one channel."""

    def __init__(
        self,
        context: HostContext,
        *,
        follows: bool = True,
        every_s: float = EVERY_S,
        look_s: float = LOOK_S,
    ) -> None:
        """`follows`: not only what an earlier start left."""
        self._follows = follows
        self._context = context
        self._driver = context.driver
        self._every_s = every_s
        self._look_s = look_s
        self._lives: dict[tuple[str, str], _Live] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def phase(self, news: ChannelNews) -> None:
        """Follow a turn that began and answers here; one turn's beginning is another one's end."""
        for live in self._lives.values():
            if live.session_id == news.session_id and live.turn_id != news.turn_id:
                live.end()
        if not self._follows or news.phase != Phase.PROCESSING.value or not news.turn_id:
            return
        for address in news.addresses:
            if (news.turn_id, address) not in self._lives:
                self._begin(news, address)

    def resume(self) -> None:
        """See to what an earlier start showed."""
        for left in self._context.unfinished.lives():
            live = _Live(
                session_id=left.session_id,
                turn_id=left.turn_id,
                thread=Thread.at(left.address),
                is_hidden=True,
                is_tried=True,
            )
            self._lives[live.turn_id, left.address] = live
            self._start(self._settle(live), left.address)

    async def take_over(self, turn_id: str, thread: Thread) -> str:
        """See `outbound.LiveReplies`."""
        live = self._lives.get((turn_id, thread.address))
        if live is None:
            # Perhaps of a start before this one.
            return await self._found(turn_id, thread)
        async with live.lock:
            live.is_taken = live.is_hidden = True
            if not live.post_id and live.is_tried:
                live.post_id = await self._found(turn_id, thread)
            return live.post_id

    def replaced(self, turn_id: str, thread: Thread) -> None:
        """See `outbound.LiveReplies`."""
        self._context.unfinished.drop(key_of(turn_id, thread))

    def closed(self, turn_id: str, thread: Thread) -> None:
        """See `outbound.LiveReplies`."""
        self._context.unfinished.drop(key_of(turn_id, thread))
        live = self._lives.pop((turn_id, thread.address), None)
        if live is not None:
            live.is_closed.set()
            live.end()

    async def close(self) -> None:
        """Follow nothing any more; what is shown is found again by its key."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, news: ChannelNews, address: str) -> None:
        live = _Live(session_id=news.session_id, turn_id=news.turn_id, thread=Thread.at(address))
        self._lives[news.turn_id, address] = live
        self._start(self._follow(live), address)

    def _start(self, work: Coroutine[None, None, None], address: str) -> None:
        task = asyncio.create_task(work, name=f"live {address}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _found(self, turn_id: str, thread: Thread) -> str:
        return await bounded(self._driver.find_post(thread, key_of(turn_id, thread))) or ""

    async def _settle(self, live: _Live) -> None:
        """Wait until it is known whether a reply comes; what no reply replaces is taken away."""
        request = FindReplyRequest(
            session_id=live.session_id, turn_id=live.turn_id, address=live.thread.address
        )
        pause_s = self._look_s
        while not live.is_closed.is_set():
            live.has_news.clear()
            try:
                found = await self._context.link.find_reply(request)
                if found.state == NO_REPLY:
                    await self._abandon(live)
                    return
            except NetclawError as error:
                _log.info("it is not known whether a reply comes: %s", error.sentence)
            except TransientFailure as failure:
                _log.info("an unfinished reply was not taken away: %s", failure.sentence)
                pause_s = max(min(pause_s * 2, LONGEST_LOOK_S), failure.retry_after_s or 0.0)
            except DriverFailure as failure:
                _log.warning("an unfinished reply stays: %s", failure.sentence)
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await live.has_news.wait()

    # One turn -------------------------------------------------------------------------------

    async def _follow(self, live: _Live) -> None:
        """From the turn's beginning until its message is replaced or taken away."""
        showing = asyncio.create_task(self._show_all(live))
        try:
            await self._until_over(live)
            await self._settle(live)
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)

    async def _until_over(self, live: _Live) -> None:
        """Read along; a turn that ended before its stream began says nothing more of its end."""
        reading = asyncio.create_task(self._read(live))
        ending = asyncio.create_task(live.is_over.wait())
        try:
            await asyncio.wait((reading, ending), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
        except NetclawError as error:
            # What is shown stays until the reply, which is due all the same.
            _log.info("a turn is not shown any more: %s", error.sentence)
        finally:
            reading.cancel()
            ending.cancel()
            await asyncio.gather(reading, ending, return_exceptions=True)

    async def _read(self, live: _Live) -> None:
        """Collect the text until the turn is over."""
        request = AttachRequest(session_id=live.session_id, filter=int(OutputFilter.TEXT_STREAMING))
        stream = self._context.link.attach(request)
        try:
            async for batch in stream:
                for output in batch.outputs:
                    live.take(output)
                    if output.type == "turn_completed" and output.turn_id == live.turn_id:
                        return
        finally:
            await close_stream(stream)

    async def _show_all(self, live: _Live) -> None:
        """Show what is there, never more often than every so many seconds."""
        while not live.is_hidden:
            await live.is_new.wait()
            live.is_new.clear()
            async with live.lock:
                asked_s = await self._show(live)
            await asyncio.sleep(max(self._every_s, asked_s))

    async def _show(self, live: _Live) -> float:
        """Show what is there; how long the platform asked to wait afterwards."""
        if live.is_hidden:
            return 0.0
        limit = self._driver.abilities.text_limit
        parts = split(live.text, limit - len(CURSOR))
        text = f"{parts[0].rstrip()}{CURSOR}" if parts else ""
        if text in ("", live.shown):
            return 0.0
        live.is_tried = True
        try:
            if live.post_id:
                await bounded(self._driver.edit(live.thread, live.post_id, text, ()))
            else:
                key = key_of(live.turn_id, live.thread)
                left = LeftLive(
                    session_id=live.session_id, turn_id=live.turn_id, address=live.thread.address
                )
                self._context.unfinished.keep_live(key, left)
                post = Post(thread=live.thread, key=key, text=text)
                live.post_id = await bounded(self._driver.post(post))
        except RefusedFailure:
            # Somebody deleted it, or nothing can be said here: the reply will find out.
            live.is_hidden = True
        except DriverFailure as failure:
            _log.info("a reply was not shown while it was made: %s", failure.sentence)
            if not live.post_id:
                # Perhaps it is there: no second one.
                live.is_hidden = True
            if isinstance(failure, TransientFailure):
                return failure.retry_after_s or 0.0
        except Exception:  # noqa: BLE001 - a driver's fault concerns this message alone
            _log.exception("a reply was not shown while it was made")
            live.is_hidden = True
        else:
            live.shown = text
        return 0.0

    async def _abandon(self, live: _Live) -> None:
        """No reply came: the turn was stopped, or cut."""
        async with live.lock:
            if live.is_taken:
                return
            live.is_hidden = True
            await self._remove(live)
            self._lives.pop((live.turn_id, live.thread.address), None)
            self._context.unfinished.drop(key_of(live.turn_id, live.thread))

    async def _remove(self, live: _Live) -> None:
        post_id = live.post_id
        if not post_id and live.is_tried:
            post_id = await self._found(live.turn_id, live.thread)
        if not post_id:
            return
        try:
            await bounded(self._driver.delete(live.thread, post_id))
        except RefusedFailure:
            await bounded(self._driver.edit(live.thread, post_id, CUT, ()))
