"""Follows the transcripts that watched sessions were adopted from (seed "Watchers").

One look at each file in a tick, one tick after another. A session at work is not looked at: what
people write elsewhere meanwhile is found afterwards. What a look leads to is judged again by the
store in the transaction that writes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from netclaw.core.errors import NetclawError, StorageError
from netclaw.core.ids import SessionId
from netclaw.core.signals.events import Signal
from netclaw.core.signals.upstream import (
    FileChange,
    FileFacts,
    Misses,
    Scan,
    UpstreamLink,
    UpstreamMarker,
    activity_signal,
    compare_file,
    is_gone,
    missed,
    missing_signal,
    not_told,
    own_texts,
    rebased,
    scan,
)
from netclaw.ports.upstream import OwnSide, UpstreamWrite
from netclaw.supervisor.services import Services
from netclaw.supervisor.transcript_files import read_piece

_log = logging.getLogger(__name__)

FIRST_TICK_S = 15.0
"""After a start sessions that were at work come first (decision 63)."""
LOOK_PATIENCE_S = 10.0
"""How long one file may keep the others waiting; a dead network disk never answers."""
THREADS = 16
"""Each file on a dead disk holds one for as long as that is dead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look at a file came to; nothing is found in a file that is another now."""

    facts: FileFacts
    change: FileChange
    found: Scan | None = None


class UpstreamMonitor:
    """Looks at followed transcripts, tick by tick, until it is cancelled."""

    def __init__(
        self, services: Services, *, timeout: Callable[[float], asyncio.Timeout] = asyncio.timeout
    ) -> None:
        self._services = services
        self._timeout = timeout
        self._is_stopped = False
        self._misses: dict[SessionId, Misses] = {}
        self._complaints: dict[SessionId, str] = {}
        """What was logged last of a source that cannot be followed, so that it is said once."""
        self._reading: dict[SessionId, asyncio.Future[Look]] = {}
        """Looks that did not come back in time."""
        self._changed = asyncio.Event()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="netclaw-transcripts")
        services.settings.when_changed(self._changed.set)

    def stop(self) -> None:
        """The daemon ends: what a look finds from now on is found again by the next one."""
        self._is_stopped = True

    async def run(self) -> None:
        """Tick until cancelled."""
        try:
            await self._wait(lambda tick_s: min(FIRST_TICK_S, tick_s))
            while True:
                try:
                    await self.tick()
                except NetclawError as error:
                    _log.warning("transcripts are looked at later: %s", error.sentence)
                except Exception:  # noqa: BLE001 - the next tick may fare better
                    _log.exception("looking at transcripts failed")
                await self._wait(lambda tick_s: tick_s)
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _wait(self, length_of: Callable[[float], float]) -> None:
        """Wait for the next tick, by the configuration as it is when it comes."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            tick_s = self._services.settings.current.signals.monitor_tick_s
            left_s = began + length_of(tick_s) - loop.time()
            if left_s <= 0:
                return
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with self._timeout(left_s):
                    await self._changed.wait()

    async def tick(self) -> None:
        """Look at every followed transcript once; one that fails stops no other."""
        watched = await self._services.store.watched_links()
        self._forget_all_but({item.link.session_id for item in watched})
        for item in watched:
            if self._is_stopped:
                return
            if not item.is_idle:
                continue
            try:
                await self._check(item.link)
            except NetclawError as error:
                if isinstance(error, StorageError):
                    self._services.health.note(error)
                self._complain(item.link, error.sentence)
            except Exception:  # noqa: BLE001 - one source must not stop the others
                _log.exception("looking at the transcript of %s failed", item.link.session_id)

    def _forget_all_but(self, kept: set[SessionId]) -> None:
        for known in (self._misses, self._complaints):
            for session_id in known.keys() - kept:
                del known[session_id]

    async def _check(self, link: UpstreamLink) -> None:
        own = await self._services.store.own_side(link.session_id)
        if own is None:
            return
        try:
            look = await self._look(link, own)
        except FileNotFoundError:
            await self._on_missing(link, own)
            return
        except OSError as error:
            self._misses.pop(link.session_id, None)
            self._complain(link, error.strerror or "an error of the disk")
            return
        self._misses.pop(link.session_id, None)
        if look is not None:
            await self._on_look(link, own, look)

    async def _look(self, link: UpstreamLink, own: OwnSide) -> Look | None:
        """Read on in a thread; None if the disk does not answer, then or since an earlier tick.

        Raises `OSError`.
        """
        known = self._reading.pop(link.session_id, None)
        if known is not None and not known.done():
            self._reading[link.session_id] = known
            return None
        loop = asyncio.get_running_loop()
        look = loop.run_in_executor(self._threads, _look_at, link, own)
        done, _ = await asyncio.wait({look}, timeout=LOOK_PATIENCE_S)
        if not done:
            look.add_done_callback(_drop)
            self._reading[link.session_id] = look
            self._complain(link, f"the disk did not answer within {LOOK_PATIENCE_S:g} s")
            return None
        return look.result()

    async def _on_missing(self, link: UpstreamLink, own: OwnSide) -> None:
        """Count it; the third in a row ends the link."""
        misses = missed(self._misses.get(link.session_id), link)
        self._misses[link.session_id] = misses
        if not is_gone(misses):
            return
        # Until it is recorded it stays at two, so that the next check tries again.
        self._misses[link.session_id] = not_told(misses)
        if self._is_stopped:
            return
        now = self._services.now_ms()
        outcome = await self._services.store.remove_upstream(
            link, own, signal=missing_signal(link, now=now)
        )
        if outcome is UpstreamWrite.DONE:
            self._misses.pop(link.session_id, None)
            _log.info("the transcript of %s is gone: %s", link.session_id, link.source.path)

    async def _on_look(self, link: UpstreamLink, own: OwnSide, look: Look) -> None:
        """Tell of what people wrote, or begin anew in a file that is another."""
        if look.found is not None:
            await self._on_found(link, own, look.facts, look.found)
            return
        _log.warning(
            "the transcript of %s was %s; it is followed from its end on: %s",
            link.session_id,
            look.change.value,
            link.source.path,
        )
        marker = rebased(look.facts, at=self._services.now_ms())
        await self._advance(link, own, marker, signal=None)

    async def _on_found(
        self, link: UpstreamLink, own: OwnSide, facts: FileFacts, found: Scan
    ) -> None:
        if found.is_blocked:
            self._complain(link, "its next row is longer than 1 MiB, which is never passed over")
            return
        self._complaints.pop(link.session_id, None)
        if found.offset == link.marker.offset:
            return
        if found.unreadable:
            _log.warning(
                "%d rows in the transcript of %s are no JSON objects; they count as nobody's",
                found.unreadable,
                link.session_id,
            )
        signal = None
        if found.turns:
            signal = activity_signal(
                link, found, modified_at=facts.modified_at, now=self._services.now_ms()
            )
        await self._advance(link, own, replace(link.marker, offset=found.offset), signal=signal)

    async def _advance(
        self, link: UpstreamLink, own: OwnSide, marker: UpstreamMarker, *, signal: Signal | None
    ) -> None:
        """Move the marker, with the signal if there is something to tell.

        What meets a change is void, and found again by the next look.
        """
        if not self._is_stopped:
            now = self._services.now_ms()
            await self._services.store.advance_upstream(link, own, marker, signal=signal, at=now)

    def _complain(self, link: UpstreamLink, reason: str) -> None:
        """Say once that a source cannot be followed, and why."""
        if self._complaints.get(link.session_id) != reason:
            self._complaints[link.session_id] = reason
            _log.warning(
                "the transcript of %s cannot be followed now: %s (%s)",
                link.session_id,
                reason,
                link.source.path,
            )


def _look_at(link: UpstreamLink, own: OwnSide) -> Look:
    """Read and judge, in a thread; raises `OSError`."""
    piece = read_piece(link.source.path, link.marker.offset)
    change = compare_file(link.marker, piece.facts)
    if change is not FileChange.SAME:
        return Look(facts=piece.facts, change=change)
    own_words = own_texts(own.messages)
    found = scan(link.source.catalog, piece.data, offset=link.marker.offset, own=own_words)
    return Look(facts=piece.facts, change=change, found=found)


def _drop(look: asyncio.Future[Look]) -> None:
    """A look that came too late: whatever it found, the next one finds too."""
    if not look.cancelled():
        look.exception()
