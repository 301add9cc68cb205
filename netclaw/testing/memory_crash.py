"""What a crash does to one session of the in-memory journal."""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.session.events import CrashRecorded, OutboxRow
from netclaw.core.supervision import CrashRecord, NextStep, judge_death
from netclaw.ports.crashes import CrashOutcome, CrashReport
from netclaw.ports.journal import EventDraft, JournalRow
from netclaw.testing.memory_session import MemorySession, draft_of

_CAUSE = "supervisor"


def record_crash(
    session: MemorySession, report: CrashReport
) -> tuple[CrashOutcome, tuple[JournalRow, ...], tuple[OutboxRow, ...]]:
    """Change the session, answer what was judged, written and has to be told to channels."""
    session.is_start_open = False
    since = report.at - int(report.settings.quarantine_window_s * 1000)
    recent = tuple(at for at in session.crash_times if at > since)
    attempt = 0 if session.open_turn is None else _since_turn(session) + 1
    verdict = judge_death(
        CrashRecord(crashes=recent, in_a_row=min(_since_progress(session, since), len(recent))),
        report.cause,
        turn_crashes=attempt,
        now_ms=report.at,
        settings=report.settings,
    )
    if report.is_unreadable:
        verdict = replace(verdict, step=NextStep.QUARANTINE)
    crash = CrashRecorded(
        exit_status=report.exit_status, turn_id=session.open_turn, attempt=attempt
    )
    drafts: tuple[EventDraft, ...] = (draft_of(crash),)
    replies: tuple[OutboxRow, ...] = ()
    give_up = report.give_up
    if verdict.is_poison and give_up is not None and give_up.turn_id == session.open_turn:
        drafts, replies = (*drafts, *give_up.events), give_up.outbox
    rows = session.write(drafts, at=report.at, cause=_CAUSE)
    session.crash_times = tuple(sorted((*recent, report.at)))
    if session.snapshot is not None and session.snapshot.seq == report.bad_snapshot:
        session.snapshot = None
    session.is_quarantined |= verdict.step is NextStep.QUARANTINE
    return CrashOutcome(verdict=verdict, attempt=attempt), rows, replies


def _since_turn(session: MemorySession) -> int:
    count = 0
    for row in session.rows:
        if row.type == "TurnStarted":
            count = 0
        count += row.type == "CrashRecorded"
    return count


def _since_progress(session: MemorySession, since: int) -> int:
    count = 0
    for row in session.rows:
        if row.type in ("TurnRecorded", "TurnFailed") and row.cause != _CAUSE:
            count = 0
        count += row.type == "CrashRecorded" and row.at > since
    return count
