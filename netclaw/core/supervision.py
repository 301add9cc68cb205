"""What happens after a session process died: restart, backoff, poison, quarantine.

Pure functions over plain values; the supervisor holds one `CrashRecord` per session and asks
`judge_death` (decisions 4 and 5). Times are epoch milliseconds, lengths seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from netclaw.core.errors import ErrorCategory
from netclaw.core.exit_codes import ExitCode
from netclaw.core.session import consent, sentences
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.events import SessionEvent, TurnFailed
from netclaw.core.session.open_work import open_run_ids
from netclaw.core.session.state import OpenTurn, SessionState
from netclaw.core.settings import SupervisionSettings

START_DEATHS_LIMIT = 2
"""A start that was in progress at this many consecutive deaths of the supervisor is held."""


class DeathCause(StrEnum):
    """Why a session process is gone."""

    CRASH = "crash"
    """It died unasked: a signal, a failure exit, its memory limit."""
    HUNG = "hung"
    """It answered no ping and was killed: as bad as a crash."""
    ENDED = "ended"
    """It ended on purpose: passivated, drained."""
    STORAGE = "storage"
    """It ended because nothing can be written; starts wait for the store."""
    OPERATOR = "operator"
    """A person killed or stopped it."""
    SUPERVISOR = "supervisor"
    """The supervisor died and took it along."""

    @property
    def is_crash(self) -> bool:
        """Whether it counts against the turn and the session."""
        return self in (DeathCause.CRASH, DeathCause.HUNG)


class NextStep(StrEnum):
    """What the supervisor does about a death."""

    START = "start"
    """Start it again after `after_s` if it has runnable work."""
    QUARANTINE = "quarantine"
    """Start it no more until an operator says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashRecord:
    """The crashes of one session that still matter."""

    crashes: tuple[int, ...] = ()
    """When they happened, within the quarantine window, oldest first."""
    in_a_row: int = 0
    """Crashes since it last got anything done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer to a death."""

    record: CrashRecord
    step: NextStep
    after_s: float = 0.0
    is_poison: bool = False
    """The open turn crashed too often: append `poison_events` before the next start."""


_CAUSES = {
    ExitCode.PASSIVATED: DeathCause.ENDED,
    ExitCode.FENCED: DeathCause.ENDED,
    ExitCode.STREAM_LOST: DeathCause.SUPERVISOR,
    ExitCode.STORAGE: DeathCause.STORAGE,
}


def cause_of(exit_status: int) -> DeathCause:
    """What a death means that nobody asked for, judged by its exit status alone.

    Negative for a signal, as in CrashRecorded. Who killed or asked it knows better than this.
    """
    known = exit_status in ExitCode.__members__.values()
    return _CAUSES.get(ExitCode(exit_status), DeathCause.CRASH) if known else DeathCause.CRASH


def judge_death(
    record: CrashRecord,
    cause: DeathCause,
    *,
    turn_crashes: int,
    now_ms: int,
    settings: SupervisionSettings,
) -> Verdict:
    """Decide what follows from a death.

    `turn_crashes` counts the crashes of the open turn with this one (`OpenTurn.crashes` once its
    CrashRecorded is applied), 0 without an open turn. What is no crash changes no count.
    """
    if not cause.is_crash:
        return Verdict(record=record, step=NextStep.START)
    window_ms = settings.quarantine_window_s * 1000
    recent = tuple(at for at in record.crashes if now_ms - at < window_ms)
    after_s = backoff_s(record.in_a_row if recent else 0, settings)
    in_a_row = record.in_a_row + 1 if recent else 1
    grown = CrashRecord(crashes=(*recent, now_ms), in_a_row=in_a_row)
    return Verdict(
        record=grown,
        step=NextStep.QUARANTINE if is_crash_loop(grown, settings) else NextStep.START,
        after_s=after_s,
        is_poison=turn_crashes >= settings.turn_crash_limit,
    )


def backoff_s(crashes_before: int, settings: SupervisionSettings) -> float:
    """Seconds to wait before the next start; the last step repeats."""
    steps = settings.backoff_s
    return steps[min(crashes_before, len(steps) - 1)] if steps else 0.0


def is_crash_loop(record: CrashRecord, settings: SupervisionSettings) -> bool:
    """Whether the crashes within the window reach the limit."""
    return len(record.crashes) >= settings.quarantine_crashes


def is_start_held(deaths_during_start: int) -> bool:
    """Whether a start that was in progress at so many consecutive deaths of the supervisor waits.

    Such a start may be what kills it, so it is held and reported (protocol).
    """
    return deaths_during_start >= START_DEATHS_LIMIT


def poison_events(state: SessionState, reference: str) -> tuple[SessionEvent, ...]:
    """What the supervisor appends for a poison turn: it fails, its inputs are consumed.

    All open calls are closed. Inputs that joined after the last recorded round wait again, as at
    any heal. Empty without an open turn, and for one that rests until a person acts: a process
    that does nothing for it does not die of it, and no start is due that could die of it again.
    """
    turn = state.turn
    if turn is None or consent.is_at_rest(state):
        return ()
    note = sentences.with_warning(sentences.POISON_TURN, has_launched=turn.has_launched)
    return (_failed(state, turn, ErrorCategory.INTERNAL, reference, note),)


def stop_event(state: SessionState, reference: str) -> TurnFailed | None:
    """What the supervisor appends when a stopped session has no process to end its turn.

    None for a turn that waits on consent alone: it stays parked, and an answer takes it up.
    """
    turn = state.turn
    if turn is None or consent.is_parked(state):
        return None
    note = sentences.stop_notice(AfterDrain.NOTHING, has_launched=turn.has_launched)
    event = _failed(state, turn, ErrorCategory.INTERRUPTED, reference, note)
    return replace(event, is_person_told=not turn.is_person_told_of_stop)


def _failed(
    state: SessionState, turn: OpenTurn, category: ErrorCategory, reference: str, note: str
) -> TurnFailed:
    returned = set(turn.joined_since_round)
    return TurnFailed(
        turn_id=turn.turn_id,
        category=category,
        reference=reference,
        note=note,
        input_ids=tuple(item for item in turn.input_ids if item not in returned),
        closed_call_ids=tuple(item.call.call_id for item in turn.batch if item.result is None),
        open_child_runs=open_run_ids(state),
    )
