"""Wakes top-level sessions that have a notice to consume: the first at once, further ones merged.

A wake is an input like any other (ADR 0045): durable, and under a source id that names the notice,
so that neither a retry nor the scan at boot wakes twice for the same. It waits for its turn; a
session at work is not disturbed. The notice itself does not depend on it: whatever turn comes next
tells of everything that is open.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from netclaw.core.authority import (
    Authenticity,
    Authority,
    DeliveryTarget,
    Principal,
    Provenance,
    Requester,
    SourceKind,
)
from netclaw.core.errors import (
    DrainingError,
    InvalidArgumentError,
    NetclawError,
    NotFoundError,
    StorageError,
)
from netclaw.core.ids import SessionId, is_child_key
from netclaw.core.signals.cursors import Notice, NoticeChange
from netclaw.ports.journal import AdmitRequest, SessionRecord
from netclaw.supervisor.ids import new_input_id
from netclaw.supervisor.router import Router
from netclaw.supervisor.services import Services

_log = logging.getLogger(__name__)

WAKE_TEXT = (
    "This turn was begun by netclaw, not by a person: a session that you watch was changed by"
    " another actor."
)
"""What the model reads ahead of the notices; every wake has the same."""
BOUNDARY = "local"
REOPENED_LIMIT = 5
"""Failed turns after which a notice waits for whatever turn comes next."""
REOPENED_CAP_S = 3600.0
RETRY_S = 1.0
"""Before a wake that could not be admitted is tried again; doubled each time."""
RETRY_CAP_S = 60.0


@dataclass(slots=True)
class _Need:
    """An open notice that nobody was woken for."""

    since: float
    """On the loop's clock."""
    reopened: int


@dataclass(slots=True)
class _Watcher:
    """What is known of one watcher with open notices, or woken lately."""

    open: dict[SessionId, NoticeChange] = field(default_factory=dict)
    needs: dict[SessionId, _Need] = field(default_factory=dict)
    is_leftover_possible: bool = False
    """A turn consumed notices while others were open: it may not have had room for all."""
    is_called: bool = False
    """A wake was admitted and no turn consumed anything since: it will tell of all there is."""
    woken_at: float | None = None
    failures: int = 0
    due_at: float | None = None
    timer: asyncio.TimerHandle | None = None
    is_busy: bool = False
    """A wake is being admitted."""


class Wakes:
    """All watchers of one daemon; each event costs the same, however many there are."""

    def __init__(self, services: Services, router: Router) -> None:
        self._services = services
        self._router = router
        self._watchers: dict[SessionId, _Watcher] = {}
        self._is_open = False
        self._is_stopped = False

    # What happens -------------------------------------------------------------------------

    def expect(self, notices: Iterable[NoticeChange]) -> None:
        """Take over what was open at boot."""
        for change in notices:
            self.on_notice(change)

    def begin(self) -> None:
        """Wake whom there is to wake, from now on."""
        self._is_open = True
        self.settings_changed()

    def on_notice(self, change: NoticeChange) -> None:
        """A notice was opened, consumed, or opened again; in commit order."""
        if is_child_key(change.watcher) or self._is_stopped:
            return  # a run is not woken: its line waits for its next turn
        watcher = self._watchers.get(change.watcher)
        if watcher is None:
            if change.notice is None:
                return
            watcher = self._watchers[change.watcher] = _Watcher()
        was_open = watcher.open.pop(change.target, None)
        watcher.needs.pop(change.target, None)
        if was_open is not None and was_open.notice != change.notice:
            watcher.is_called = False
            watcher.is_leftover_possible = bool(watcher.open)
        if change.reopened:
            # That turn failed: what it had no room for waits as long as what it told of.
            watcher.is_leftover_possible = False
        if change.notice is not None:
            watcher.open[change.target] = change
            if change.reopened <= REOPENED_LIMIT:
                watcher.needs[change.target] = _Need(since=self._now(), reopened=change.reopened)
        self._schedule(change.watcher, watcher, self._next_step(watcher, change.target))

    def look_again(self, session_id: SessionId) -> None:
        """A session that was not woken may run again."""
        watcher = self._watchers.get(session_id)
        if watcher is not None and watcher.open:
            watcher.is_called = False
            watcher.is_leftover_possible = True
            self._schedule(session_id, watcher, self._now())

    def forget(self, session_id: SessionId) -> None:
        """A session was deleted: one that comes under its name was never woken."""
        watcher = self._watchers.pop(session_id, None)
        if watcher is not None and watcher.timer is not None:
            watcher.timer.cancel()

    def settings_changed(self) -> None:
        """The window may be another one by now."""
        for session_id, watcher in self._watchers.items():
            watcher.due_at = None
            self._schedule(session_id, watcher, self._soonest(watcher))

    def stop(self) -> None:
        """Wake nobody any more: the daemon ends, and the next start looks at what is open."""
        self._is_stopped = True
        for watcher in self._watchers.values():
            if watcher.timer is not None:
                watcher.timer.cancel()
        self._watchers.clear()

    @property
    def watched(self) -> int:
        """Watchers that there is something to know of: with open notices, or woken lately."""
        return len(self._watchers)

    # When ---------------------------------------------------------------------------------

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    @property
    def _window_s(self) -> float:
        return self._services.settings.current.signals.wake_coalesce_s

    def _free_at(self, watcher: _Watcher) -> float:
        """When the window of the last wake is over."""
        return watcher.woken_at + self._window_s if watcher.woken_at is not None else 0.0

    def _due(self, watcher: _Watcher, need: _Need) -> float:
        delay_s = 0.0
        if need.reopened:
            delay_s = min(self._window_s * float(1 << need.reopened), REOPENED_CAP_S)
        return max(need.since + delay_s, self._free_at(watcher))

    def _next_step(self, watcher: _Watcher, target: SessionId) -> float | None:
        """When something is to be done about the watcher because of this target."""
        need = watcher.needs.get(target)
        if need is not None:
            return self._due(watcher, need)
        if watcher.is_leftover_possible or not watcher.open:
            return max(self._now(), self._free_at(watcher))
        return None

    def _soonest(self, watcher: _Watcher) -> float | None:
        """The same of all its targets."""
        times = [self._due(watcher, need) for need in watcher.needs.values()]
        if watcher.is_leftover_possible or not watcher.open:
            times.append(self._free_at(watcher))
        return min(times, default=None)

    def _schedule(self, session_id: SessionId, watcher: _Watcher, at: float | None) -> None:
        """See that something happens at `at`, unless it does sooner anyway."""
        if at is None or watcher.is_busy or not self._is_open:
            return  # whoever is busy looks at everything again
        if watcher.due_at is not None and watcher.due_at <= at:
            return
        if watcher.timer is not None:
            watcher.timer.cancel()
        watcher.due_at = at
        watcher.timer = asyncio.get_running_loop().call_at(at, self._on_time, session_id, watcher)

    def _on_time(self, session_id: SessionId, watcher: _Watcher) -> None:
        watcher.timer = watcher.due_at = None
        if not watcher.open:
            if self._free_at(watcher) <= self._now():
                self._watchers.pop(session_id, None)
            else:
                self._schedule(session_id, watcher, self._free_at(watcher))
            return
        soonest = self._soonest(watcher)
        if watcher.is_called or soonest is None:
            return
        if soonest > self._now():
            self._schedule(session_id, watcher, soonest)
            return
        watcher.is_busy = True
        self._services.tasks.start(self._wake(session_id, watcher), name=f"wake of {session_id}")

    # Waking -------------------------------------------------------------------------------

    async def _wake(self, session_id: SessionId, watcher: _Watcher) -> None:
        """Admit one wake for everything that is open now; a failed one is tried again."""
        retry_s: float | None = None
        try:
            retry_s = await self._try(session_id, watcher)
        finally:
            watcher.is_busy = False
        if self._is_stopped or self._watchers.get(session_id) is not watcher:
            return
        if retry_s is not None:
            self._schedule(session_id, watcher, self._now() + retry_s)
        elif not watcher.is_called:
            self._schedule(session_id, watcher, self._soonest(watcher))

    async def _try(self, session_id: SessionId, watcher: _Watcher) -> float | None:
        """Admit it; the seconds to wait before the next attempt if that failed."""
        try:
            await self._admit(session_id, watcher)
        except NotFoundError:
            self._watchers.pop(session_id, None)
            return None
        except InvalidArgumentError:
            # A wake of an older netclaw has this id, and other words: it was woken.
            watcher.needs.clear()
            return None
        except DrainingError:
            return None
        except NetclawError as error:
            if isinstance(error, StorageError):
                self._services.health.note(error)
                await self._services.health.wait_usable()
            retry_s = min(RETRY_S * float(1 << watcher.failures), RETRY_CAP_S)
            watcher.failures = min(watcher.failures + 1, 10)
            _log.warning("session %s is woken in %.0f s: %s", session_id, retry_s, error.sentence)
            return retry_s
        watcher.failures = 0
        return None

    async def _admit(self, session_id: SessionId, watcher: _Watcher) -> None:
        record = await self._router.record(session_id)
        if self._is_held(record):
            # Its notices wait for its next turn, or for `look_again`.
            watcher.needs.clear()
            watcher.is_leftover_possible = False
            return
        change = _oldest(watcher)
        if change is None or change.notice is None:
            return
        told = dict(watcher.open)
        admission = await self._services.store.admit(
            self._request(record, change.notice, change.reopened)
        )
        watcher.woken_at = self._now()
        watcher.is_leftover_possible = False
        for target, known in told.items():
            if watcher.open.get(target) is known:
                watcher.needs.pop(target, None)
        # One that was admitted before may be consumed by now, so that no turn comes of it.
        watcher.is_called = not admission.is_duplicate and watcher.open.get(change.target) is change

    def _is_held(self, record: SessionRecord) -> bool:
        """Whether it is not to run until somebody says so."""
        slot = self._router.find(record.session_id)
        is_held = slot is not None and (slot.hold is not None or slot.is_resting)
        return record.is_quarantined or is_held

    def _request(self, record: SessionRecord, notice: Notice, reopened: int) -> AdmitRequest:
        return AdmitRequest(
            session_id=record.session_id,
            input_id=new_input_id(),
            source_message_id=(f"signal:{record.life}:{notice.target}:{notice.mark}:{reopened}"),
            text=WAKE_TEXT,
            authority=Authority(
                requester=Requester(
                    session_id=record.session_id,
                    audience=record.audience,
                    boundary=BOUNDARY,
                    channel_type=SourceKind.SIGNAL,
                    sender_id=None,
                    principal=Principal.AUTOMATION,
                ),
                provenance=Provenance(
                    source_kind=SourceKind.SIGNAL, authenticity=Authenticity.LOCAL_PROCESS
                ),
                delivery_targets=self._targets(record),
            ),
            attended=False,
            at=self._services.now_ms(),
        )

    def _targets(self, record: SessionRecord) -> tuple[DeliveryTarget, ...]:
        """Where the answer goes beside those who look on: `Signals.WakeReplies` (decision 58).

        A session of the command line has no place to post to; who is attached sees it anyway.
        """
        is_on = self._services.settings.current.signals.wake_replies
        if not is_on or not record.channel.is_chat_channel:
            return ()
        return (DeliveryTarget(channel=record.channel, address=record.session_id),)


def _oldest(watcher: _Watcher) -> NoticeChange | None:
    """The notice that the next turn tells of first: its wake cannot be consumed without it."""
    return min(
        watcher.open.values(),
        key=lambda change: change.notice.mark if change.notice is not None else 0,
        default=None,
    )
