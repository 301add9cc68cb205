"""Delivers replies: claims them from the outbox, posts them part by part, tells how that went.

At least once, and once where it can be known (decision 7): a part's key names it for ever, and
before a part is posted that may be there already, the platform is asked for it. One binding's
replies come one after another, because the daemon hands out only the oldest; bindings go side by
side. A reply that one platform does not take holds up nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from netclaw.adapters.bounded import bounded
from netclaw.adapters.driver import FatalFailure, Post, RefusedFailure, Thread, TransientFailure
from netclaw.adapters.file_posts import FilePosts
from netclaw.adapters.names import source_kind_of
from netclaw.adapters.openings import Openings
from netclaw.adapters.parts import HostContext
from netclaw.adapters.splitting import split
from netclaw.core.errors import (
    DaemonDownError,
    DeliveryUnconfirmedError,
    NetclawError,
    NotFoundError,
    StaleIncarnationError,
    UnauthenticatedError,
)
from netclaw.wire.v1.gateway_pb2 import ClaimOutboxRequest, ConfirmOutboxRequest, OutboxItem

_log = logging.getLogger(__name__)

SIDE_BY_SIDE = 32
"""Replies under way at once."""
FIRST_DELAY_S = 1.0
LONGEST_DELAY_S = 300.0
SOONEST_S = 0.5
"""A platform that is asked too often is not asked again sooner, whatever it says: a wait of nothing
would never be over."""
PATIENCE_S = 30.0
"""How long a reply waits here for a platform that is asked too often, before it is let go."""
CROWDED_PATIENCE_S = 2.0
"""The same while every place is taken: other channels' replies wait for those places."""
POISON_ATTEMPTS = 10
"""A reply that failed so often while others were taken is the cause itself."""
MOST_ATTEMPTS = 300
"""About a day of trying."""
FATAL_AGAIN_S = 60.0
FILE, OPENING = "file", "opening"
"""Kinds of items that are no replies (`OutboxItem.kind`)."""
DRIVER_FAULT = "The channel's driver failed."
RATE_LIMITED = "The platform takes no more posts in this channel for a while."

Sleep = Callable[[float], Awaitable[None]]


class LiveReplies(Protocol):
    """Posts that showed a reply while it was made (decision 68)."""

    async def take_over(self, turn_id: str, thread: Thread) -> str:
        """The post that the reply of a turn now replaces; empty if there is none.

        The same answer as long as the reply is not `closed`.
        """

    def replaced(self, turn_id: str, thread: Thread) -> None:
        """The post is the reply now, or its beginning: it stays, whatever becomes of us."""

    def closed(self, turn_id: str, thread: Thread) -> None:
        """The reply is delivered or given up there."""


@dataclass(slots=True)
class _Underway:
    """What is known here of a reply that is not closed."""

    sent: dict[int, str] = field(default_factory=dict)
    """Ids of the posts of its parts."""
    successes_before: int | None = None
    """Replies that had been taken when it failed last."""


class Deliveries:
    """The replies of one channel; implements `parts.Outbound`."""

    def __init__(
        self,
        context: HostContext,
        *,
        live: LiveReplies | None = None,
        sleep: Sleep = asyncio.sleep,
        chance: random.Random | None = None,
    ) -> None:
        self._context = context
        self._driver = context.driver
        self._source = source_kind_of(context.config.name).value
        self._live = live
        self._files = FilePosts(context, self._made)
        self._openings = Openings(context, self._made)
        self._sleep = sleep
        self._chance = chance or random.Random()  # noqa: S311 - spreads retries, guards nothing
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._underway: dict[int, _Underway] = {}
        self._free_at: dict[str, float] = {}
        self._successes = 0
        self._is_settling = False
        self._is_settled = asyncio.Event()
        """Nothing is due or under way, and nothing more is claimed."""
        self._end: FatalFailure | NetclawError | None = None

    async def run(self) -> None:
        """Deliver until cancelled; raises what makes going on useless."""
        try:
            while self._end is None:
                self._wake.clear()
                await self._until_woken(await self._claim())
            raise self._end
        finally:
            self._is_settled.set()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def look(self) -> None:
        """Claim again."""
        self._wake.set()

    async def settle(self) -> None:
        """Deliver what is due, the last words of sessions, until nothing is; then claim no more.

        Of one binding only the oldest reply is handed out, and not all bindings fit at once.
        """
        self._is_settling = True
        self._wake.set()
        await self._is_settled.wait()

    # Claims ---------------------------------------------------------------------------------

    async def _claim(self) -> float | None:
        """Start what is due; in how many seconds to look again, None for "when told to"."""
        free, is_settling = SIDE_BY_SIDE - len(self._tasks), self._is_settling
        if self._is_settled.is_set() or free <= 0:
            return None
        request = ClaimOutboxRequest(
            channel=self._source, limit=free, adapter_start=self._context.adapter_start
        )
        try:
            claimed = await self._context.link.claim_outbox(request)
        except (DaemonDownError, DeliveryUnconfirmedError, UnauthenticatedError):
            # What a lost answer handed out would be held in our name for ever: only another start
            # of this adapter takes it over.
            raise
        except NetclawError as error:
            _log.warning("replies cannot be claimed: %s", error.sentence)
            return FIRST_DELAY_S
        for item in claimed.items:
            task = asyncio.create_task(self._take(item), name=f"reply {item.row_id}")
            self._tasks.add(task)
            task.add_done_callback(self._done)
        if is_settling and not self._tasks:
            self._is_settled.set()
        return claimed.next_in_ms / 1000 if claimed.next_in_ms else None

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._wake.set()

    async def _until_woken(self, timeout_s: float | None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _take(self, item: OutboxItem) -> None:
        try:
            await self._deliver(item)
        except (FatalFailure, NetclawError) as error:
            self._end = error

    # One reply ------------------------------------------------------------------------------

    async def _deliver(self, item: OutboxItem) -> None:
        try:
            await self._send(item)
        except RefusedFailure as failure:
            await self._give_up(item, failure.sentence)
        except FatalFailure as failure:
            # Kept for the time when somebody has put the channel right.
            await self._again(item, failure.sentence, FATAL_AGAIN_S)
            raise
        except TransientFailure as failure:
            await self._failed(item, failure.sentence, failure.retry_after_s)
        except NetclawError:
            raise
        except Exception:  # noqa: BLE001 - a driver's fault is a failure of this reply alone
            _log.exception("reply %d was not sent", item.row_id)
            await self._failed(item, DRIVER_FAULT, None)
        else:
            self._successes += 1
            self._context.counters.delivered += 1
            await self._close(item)

    async def _send(self, item: OutboxItem) -> None:
        """Make the posts of an item that are not made yet, in order."""
        sent = self._underway.setdefault(item.row_id, _Underway()).sent
        if item.kind == FILE:
            sent[0] = await self._files.send(item)
        elif item.kind == OPENING:
            sent[0] = await self._openings.send(item)
        else:
            await self._reply(item, sent)

    async def _reply(self, item: OutboxItem, sent: dict[int, str]) -> None:
        thread = Thread.at(item.address)
        parts = split(item.text, self._driver.abilities.text_limit)
        for number, text in enumerate(parts):
            if number in sent:
                continue
            post = Post(thread=thread, key=f"{item.row_id}.{number}", text=text)
            sent[number] = await self._replaced(item, post, number) or await self._made(item, post)

    async def _replaced(self, item: OutboxItem, post: Post, number: int) -> str:
        """The post that showed the reply while it was made, now with its first part."""
        if self._live is None or number or not item.turn_id:
            return ""
        post_id = await self._live.take_over(item.turn_id, post.thread)
        if not post_id:
            return ""
        try:
            await bounded(self._driver.edit(post.thread, post_id, post.text, ()))
        except RefusedFailure:
            await self._take_away(post.thread, post_id)
            return ""
        self._live.replaced(item.turn_id, post.thread)
        return post_id

    async def _take_away(self, thread: Thread, post_id: str) -> None:
        """What cannot be changed any more and is not gone would stand beside its reply."""
        try:
            await bounded(self._driver.delete(thread, post_id))
        except RefusedFailure as failure:
            _log.warning("an unfinished reply stays: %s", failure.sentence)

    async def _made(self, item: OutboxItem, post: Post) -> str:
        """The post of a part: the one that is there, or a new one."""
        is_repeat = item.taken_over or item.attempts > 0
        if is_repeat and not self._driver.abilities.enforces_keys:
            found = await bounded(self._driver.find_post(post.thread, post.key))
            if found is not None:
                return found
        return await self._post(post)

    async def _post(self, post: Post) -> str:
        """Post, waiting out what a platform asks to wait if that is short.

        Raises `TransientFailure` with the rest of the wait if it is not.
        """
        waited_s = 0.0
        while True:
            waited_s += await self._until_free(post.thread.channel_id, waited_s)
            try:
                return await bounded(self._driver.post(post))
            except TransientFailure as failure:
                if failure.retry_after_s is None:
                    raise
                asked_s = max(failure.retry_after_s, SOONEST_S)
                self._hold(post.thread.channel_id, asked_s)
                if waited_s + asked_s > self._patience_s():
                    raise
                self._context.counters.retried += 1

    def _hold(self, channel_id: str, wait_s: float) -> None:
        """Nothing is posted to a channel for so long."""
        until = asyncio.get_running_loop().time() + wait_s
        self._free_at[channel_id] = max(self._free_at.get(channel_id, 0.0), until)

    async def _until_free(self, channel_id: str, before_s: float) -> float:
        """Wait while a channel is held; how long that was, beyond what was waited `before_s`."""
        waited_s = 0.0
        while (free_at := self._free_at.get(channel_id)) is not None:
            wait_s = free_at - asyncio.get_running_loop().time()
            if wait_s <= 0:
                self._free_at.pop(channel_id, None)
                break
            if before_s + waited_s + wait_s > self._patience_s():
                raise TransientFailure(RATE_LIMITED, retry_after_s=wait_s)
            # Not all at once: the first ones would use up what the others wait for.
            wait_s += self._chance.uniform(0, min(wait_s, 1.0))
            await self._sleep(wait_s)
            waited_s += wait_s
        return waited_s

    def _patience_s(self) -> float:
        """How long a held reply may keep its place."""
        return CROWDED_PATIENCE_S if len(self._tasks) >= SIDE_BY_SIDE else PATIENCE_S

    # What becomes of it ---------------------------------------------------------------------

    async def _failed(self, item: OutboxItem, sentence: str, asked_s: float | None) -> None:
        """Try again later, unless the reply itself is what fails."""
        underway = self._underway.setdefault(item.row_id, _Underway())
        before = underway.successes_before
        underway.successes_before = self._successes
        attempts = item.attempts + 1
        is_poison = (
            asked_s is None
            and attempts >= POISON_ATTEMPTS
            and before is not None
            and self._successes > before
        )
        if is_poison or attempts >= MOST_ATTEMPTS:
            await self._give_up(item, sentence)
            return
        await self._again(item, sentence, self._delay_s(attempts, asked_s))

    def _delay_s(self, attempts: int, asked_s: float | None) -> float:
        """Growing with every attempt and never sooner than asked, spread by chance."""
        grown_s: float = min(FIRST_DELAY_S * 2.0 ** min(attempts - 1, 16), LONGEST_DELAY_S)
        return max(grown_s, asked_s or 0.0) * self._chance.uniform(1.0, 1.5)

    async def _again(self, item: OutboxItem, sentence: str, delay_s: float) -> None:
        self._context.counters.retried += 1
        self._context.report_failure(sentence)
        _log.info("reply %d again in %.1f s: %s", item.row_id, delay_s, sentence)
        await self._confirm(item, failure=sentence, retry_after_ms=max(round(delay_s * 1000), 1))

    async def _give_up(self, item: OutboxItem, sentence: str) -> None:
        """Let it go, where the operator sees it: ledger, status and log."""
        self._context.counters.given_up += 1
        self._context.report_failure(f"A reply to {item.address} was given up: {sentence}")
        _log.error("reply %d to %s was given up: %s", item.row_id, item.address, sentence)
        await self._close(item, failure=sentence)

    async def _close(self, item: OutboxItem, failure: str = "") -> None:
        await self._confirm(item, failure=failure)
        self._underway.pop(item.row_id, None)
        if self._live is not None and item.kind not in (FILE, OPENING):
            self._live.closed(item.turn_id, Thread.at(item.address))

    async def _confirm(
        self, item: OutboxItem, *, failure: str = "", retry_after_ms: int = 0
    ) -> None:
        """Tell the daemon, until it knows: a claim of ours lapses for nobody but another start."""
        sent = self._underway.get(item.row_id, _Underway()).sent
        request = ConfirmOutboxRequest(
            row_id=item.row_id,
            external_id=sent.get(0, ""),
            failure=failure,
            retry_after_ms=retry_after_ms,
            adapter_start=self._context.adapter_start,
        )
        attempts = 0
        while True:
            try:
                await self._context.link.confirm_outbox(request)
            except (NotFoundError, StaleIncarnationError) as error:
                _log.info("reply %d is no longer ours: %s", item.row_id, error.sentence)
                self._underway.pop(item.row_id, None)
                return
            except (DaemonDownError, UnauthenticatedError):
                raise
            except NetclawError as error:
                attempts += 1
                _log.warning("reply %d cannot be confirmed: %s", item.row_id, error.sentence)
                await self._sleep(self._delay_s(attempts, None))
            else:
                return
