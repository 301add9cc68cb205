"""Starts and crashes of session processes, counted on disk so that a restart forgets none."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from netclaw.core.ids import SessionId, TurnId
from netclaw.core.session.events import CrashRecorded, OutboxRow
from netclaw.core.supervision import CrashRecord, NextStep, judge_death
from netclaw.ports.crashes import CrashOutcome, CrashReport
from netclaw.ports.journal import EventDraft, StartPoint
from netclaw.store import outbox, signal_log
from netclaw.store.connection import Database
from netclaw.store.journal import SUPERVISOR_CAUSE, publish_events, read_state
from netclaw.store.rows import SessionRow
from netclaw.store.scope import WriteScope
from netclaw.wire.journal_codec import encode_event

# Found from the end of the journal, so these look at little more than the open turn.
_CRASHES_SINCE_TURN = """
SELECT count(*) FROM journal WHERE session = ? AND type = 'CrashRecorded' AND seq > ifnull((
  SELECT seq FROM journal WHERE session = ? AND type = 'TurnStarted' ORDER BY seq DESC LIMIT 1), 0)
"""
_CRASHES_SINCE_PROGRESS = """
WITH progress (seq) AS (
  SELECT seq FROM journal
  WHERE session = ? AND type IN ('TurnRecorded', 'TurnFailed') AND cause <> ?
  ORDER BY seq DESC LIMIT 1)
SELECT count(*) FROM journal
WHERE session = ? AND type = 'CrashRecorded' AND at > ?
  AND seq > ifnull((SELECT seq FROM progress), 0)
"""


def begin_incarnation(scope: WriteScope, session_id: SessionId, *, at: int) -> StartPoint:
    """Fence out every earlier process and read what the new one starts from."""
    del at
    row = scope.session(session_id)
    row.incarnation += 1
    row.is_start_open = 1
    snapshot, tail = read_state(scope.db, row.id)
    return StartPoint(
        record=row.to_record(),
        incarnation=row.incarnation,
        snapshot=snapshot,
        tail=tail,
        notices=signal_log.open_notices(scope, session_id),
    )


def finish_start(scope: WriteScope, session_id: SessionId) -> None:
    """The started process is ready."""
    row = scope.session(session_id)
    row.is_start_open = 0
    row.starts_held = 0


def record_crash(scope: WriteScope, session_id: SessionId, report: CrashReport) -> CrashOutcome:
    """Journal a crash, count it, judge it, and do what follows from it."""
    row = scope.session(session_id)
    row.is_start_open = 0
    attempt = 0 if row.open_turn is None else _turn_crashes(scope.db, row.id) + 1
    verdict = judge_death(
        _crash_record(scope, row, report),
        report.cause,
        turn_crashes=attempt,
        now_ms=report.at,
        settings=report.settings,
    )
    if report.is_unreadable:
        verdict = replace(verdict, step=NextStep.QUARANTINE)
    crash = CrashRecorded(
        exit_status=report.exit_status,
        turn_id=None if row.open_turn is None else TurnId(row.open_turn),
        attempt=attempt,
    )
    events: tuple[EventDraft, ...] = (encode_event(crash),)
    replies: tuple[OutboxRow, ...] = ()
    give_up = report.give_up
    if verdict.is_poison and give_up is not None and give_up.turn_id == row.open_turn:
        events += give_up.events
        replies = give_up.outbox
        outbox.enqueue(scope, row, replies, at=report.at)
    publish_events(scope, row, events, at=report.at, replies=replies)
    scope.db.run("INSERT INTO crashes (session, at) VALUES (?, ?)", (row.id, report.at))
    if report.bad_snapshot is not None:
        scope.db.run(
            "DELETE FROM snapshots WHERE session = ? AND seq = ?", (row.id, report.bad_snapshot)
        )
    if verdict.step is NextStep.QUARANTINE:
        row.is_quarantined = 1
    return CrashOutcome(verdict=verdict, attempt=attempt)


def _crash_record(scope: WriteScope, row: SessionRow, report: CrashReport) -> CrashRecord:
    """The crashes before this one that still matter; older ones are forgotten for good."""
    since = report.at - int(report.settings.quarantine_window_s * 1000)
    scope.db.run("DELETE FROM crashes WHERE session = ? AND at <= ?", (row.id, since))
    found = scope.db.rows("SELECT at FROM crashes WHERE session = ? ORDER BY at, id", (row.id,))
    in_a_row = scope.db.number(_CRASHES_SINCE_PROGRESS, (row.id, SUPERVISOR_CAUSE, row.id, since))
    return CrashRecord(
        crashes=tuple(cast("int", at) for (at,) in found), in_a_row=min(in_a_row, len(found))
    )


def _turn_crashes(db: Database, session: int) -> int:
    """How often the open turn crashed so far: rows are counted, not read."""
    return db.number(_CRASHES_SINCE_TURN, (session, session))


def set_quarantined(scope: WriteScope, session_id: SessionId, *, is_quarantined: bool) -> None:
    """Quarantine a session, or lift it and forget its crashes."""
    row = scope.session(session_id)
    row.is_quarantined = int(is_quarantined)
    if not is_quarantined:
        row.starts_held = 0
        scope.db.run("DELETE FROM crashes WHERE session = ?", (row.id,))


def held_starts(scope: WriteScope) -> tuple[tuple[SessionId, int], ...]:
    """At boot: count the starts that the last death cut off, forget the count of the others."""
    held = []
    for row in _with_starts(scope):
        if row.is_start_open:
            row.starts_held += 1
            row.is_start_open = 0
            held.append((SessionId(row.key), row.starts_held))
        else:
            row.starts_held = 0
    return tuple(held)


def forget_open_starts(scope: WriteScope) -> None:
    """At an orderly stop: a start that is cut off by it is no death of the supervisor."""
    for row in _with_starts(scope):
        row.is_start_open = 0


def _with_starts(scope: WriteScope) -> list[SessionRow]:
    """Rows with a start in progress or held, those of this transaction's writes included."""
    found = scope.db.rows("SELECT key FROM sessions WHERE is_start_open <> 0 OR starts_held <> 0")
    keys = dict.fromkeys([cast("str", key) for (key,) in found] + scope.unsaved_keys())
    rows = [scope.session(SessionId(key)) for key in keys]
    rows.sort(key=lambda row: row.id)
    return [row for row in rows if row.is_start_open or row.starts_held]
