"""The part of the operator's service about state awareness: the signal log, watches and goals."""

from __future__ import annotations

import os
import pwd

from netclaw.core.errors import InvalidArgumentError
from netclaw.core.ids import SessionId, parse_session_id
from netclaw.core.session.goal_events import GoalStatus
from netclaw.core.session.goals import Goal, GoalChange
from netclaw.core.signals.cursors import Cursor
from netclaw.core.signals.events import Actor, ActorType, SignalEvent
from netclaw.ports.signals import CHANGES_LIMIT, StateChanges
from netclaw.supervisor.callers import Caller
from netclaw.supervisor.router import Router
from netclaw.supervisor.rpc import RpcStream
from netclaw.supervisor.services import Services
from netclaw.supervisor.signal_tails import SignalTail, SignalTails
from netclaw.wire.v1 import admin_pb2 as pb

WATCHES_LIMIT = 1000
MAX_SEQUENCE = 2**63 - 1
"""The largest that the database holds."""


class AdminSignals:
    """Mixed into `Admin`."""

    _services: Services
    _router: Router
    _tails: SignalTails

    async def show_signals(
        self, request: pb.ShowSignalsRequest, _caller: Caller
    ) -> pb.ShowSignalsResponse:
        """What changed after a version."""
        session_id = parse_session_id(request.session_id)
        since = _version(request.since)
        changes = await self._services.store.changes_since(
            session_id, since, limit=min(request.limit or CHANGES_LIMIT, CHANGES_LIMIT)
        )
        if not changes.state_version:
            await self._router.record(session_id)
        return pb.ShowSignalsResponse(
            state_version=changes.state_version,
            events=map(signal_row, changes.events),
            truncated=changes.is_truncated,
            gap=changes.has_history_gap,
            earliest=changes.earliest_available,
        )

    async def watch_session(self, request: pb.WatchRequest, _caller: Caller) -> pb.WatchResponse:
        """Begin a watch, or keep the one there is."""
        watcher, target = parse_session_id(request.watcher), parse_session_id(request.target)
        if watcher == target:
            raise InvalidArgumentError("A session does not watch itself.")
        is_watched = await self._services.store.watch_session(
            watcher, target, at=self._services.now_ms()
        )
        return pb.WatchResponse(watched=is_watched)

    async def unwatch_session(self, request: pb.WatchRequest, _caller: Caller) -> pb.WatchResponse:
        """End a watch, whether or not there is one."""
        was_watched = await self._services.store.unwatch_session(
            parse_session_id(request.watcher), parse_session_id(request.target)
        )
        return pb.WatchResponse(was_watched=was_watched)

    async def list_watches(
        self, request: pb.ListWatchesRequest, _caller: Caller
    ) -> pb.ListWatchesResponse:
        """Every pair, or those of one session, in order."""
        session_id = parse_session_id(request.session_id) if request.session_id else None
        limit = min(request.limit or WATCHES_LIMIT, WATCHES_LIMIT)
        after = (request.after_watcher, request.after_target)
        found = sorted(
            (
                cursor
                for cursor in await self._services.store.cursors(session_id)
                if _pair(cursor) > after
            ),
            key=_pair,
        )
        if not found and session_id is not None and not any(after):
            await self._known(session_id)
        return pb.ListWatchesResponse(
            watches=map(_watch_row, found[:limit]), more=len(found) > limit
        )

    async def tail_signals(
        self, request: pb.TailSignalsRequest, _caller: Caller, stream: RpcStream
    ) -> None:
        """First what is kept after a sequence, then events as they are committed."""
        session_id = parse_session_id(request.session_id) if request.session_id else None
        since = _version(request.since) if request.HasField("since") else None
        if session_id is not None:
            await self._known(session_id)
        tail = self._tails.open(session_id)
        try:
            await stream.open()
            if since is None:
                since = await self._head()
                await stream.write(pb.SignalsTail(head=since))
            await self._replay(tail, since, stream)
            while (batch := await tail.next()) is not None:
                events, missed = batch
                await stream.write(pb.SignalsTail(events=map(signal_row, events), missed=missed))
        finally:
            self._tails.leave(tail)

    async def _head(self) -> int:
        """Where the log ends now."""
        newest = await self._services.store.all_changes_since(MAX_SEQUENCE, limit=1)
        return newest.state_version

    async def _replay(self, tail: SignalTail, since: int, stream: RpcStream) -> None:
        """Show what is kept; what is committed meanwhile waits behind it in the tail."""
        has_gap = False
        while True:
            page = await self._page(tail.session_id, since)
            if page.events:
                since = page.events[-1].sequence
            is_new_gap = page.has_history_gap and not has_gap
            has_gap = has_gap or page.has_history_gap
            if page.events or is_new_gap:
                await stream.write(
                    pb.SignalsTail(events=map(signal_row, page.events), gap=is_new_gap)
                )
            if not page.is_truncated:
                # Not beyond the log, whatever version was named: what comes is news.
                tail.skip_to(min(since, page.state_version))
                return

    async def _page(self, session_id: SessionId | None, since: int) -> StateChanges:
        if session_id is None:
            return await self._services.store.all_changes_since(since)
        return await self._services.store.changes_since(session_id, since)

    async def get_goal(self, request: pb.SessionRef, _caller: Caller) -> pb.GoalRow:
        """The goal as it is."""
        record = await self._router.record(parse_session_id(request.session_id))
        return _goal_row(
            record.session_id, Goal(text=record.goal, status=record.goal_status), is_changed=False
        )

    async def set_goal(self, request: pb.SetGoalRequest, _caller: Caller) -> pb.GoalRow:
        """What the operator wants of it; recorded as a person's change if it is one."""
        session_id = parse_session_id(request.session_id)
        outcome = await self._services.store.set_goal(
            session_id, _goal_change(request), actor=operator_at_host(), at=self._services.now_ms()
        )
        return _goal_row(session_id, outcome.goal, is_changed=outcome.is_changed)

    async def _known(self, session_id: SessionId) -> None:
        """Raises `NotFoundError` for a session that neither exists nor left anything behind."""
        changes = await self._services.store.changes_since(session_id, 0, limit=1)
        if not changes.state_version:
            await self._router.record(session_id)


def signal_row(event: SignalEvent) -> pb.SignalRow:
    """An event as the operator sees it."""
    signal, payload = event.signal, event.signal.payload
    return pb.SignalRow(
        sequence=event.sequence,
        session_id=signal.target,
        kind=signal.kind.value,
        actor_type=signal.actor.type.value,
        actor_id=signal.actor.id,
        occurred_at_ms=signal.occurred_at,
        summary=signal.summary,
        run_id=signal.run_id or "",
        payload=pb.SignalFacts(
            outcome=payload.outcome,
            channel=payload.channel,
            turns=payload.turns,
            catalog_id=payload.catalog_id,
            host_id=payload.host_id,
        ),
    )


def _watch_row(cursor: Cursor) -> pb.WatchRow:
    return pb.WatchRow(
        watcher=cursor.watcher,
        target=cursor.target,
        last_seen=cursor.seen,
        notified=cursor.notified,
        material=cursor.material,
    )


def _pair(cursor: Cursor) -> tuple[str, str]:
    return cursor.watcher, cursor.target


def _goal_row(session_id: SessionId, goal: Goal, *, is_changed: bool) -> pb.GoalRow:
    return pb.GoalRow(
        session_id=session_id,
        text=goal.text,
        status=goal.status.value if goal.text else "",
        changed=is_changed,
    )


def _goal_change(request: pb.SetGoalRequest) -> GoalChange:
    text = request.text if request.HasField("text") else None
    if request.clear:
        if text is not None or request.status:
            raise InvalidArgumentError("A goal that is cleared has neither words nor a status.")
        return GoalChange(text="")
    if text is None and not request.status:
        raise InvalidArgumentError("Neither words nor a status of the goal are given.")
    if text is not None and not text.strip():
        raise InvalidArgumentError(
            "The goal has no words.", fix="`netclaw goal clear` takes a goal away."
        )
    return GoalChange(text=text, status=_status(request.status) if request.status else None)


def _status(word: str) -> GoalStatus:
    try:
        return GoalStatus(word)
    except ValueError:
        known = ", ".join(status.value for status in GoalStatus)
        raise InvalidArgumentError(f"{word!r} is no status of a goal; it is {known}.") from None


def operator_at_host() -> Actor:
    """The person at this host, by the id that the command line sends messages with."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = str(os.getuid())
    return Actor(type=ActorType.HUMAN, id=name)


def _version(since: int) -> int:
    if since < 0:
        raise InvalidArgumentError(f"{since} is no version: versions begin at 0.")
    return since
