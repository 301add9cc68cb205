"""The session itself: mailbox, decide, append, evolve, perform; one step at a time.

State is always `evolve` over the commits in commit order, whoever authored them (decision 3). One
append is in flight; while it is, commands wait, and foreign commits are applied as they come. A
refused append leaves no trace: its early model call is cancelled and the same command is decided
again on the newer state. Everything here runs on the event loop and never waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from netclaw.core.errors import ErrorCategory, ErrorCode
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import DispatchToken
from netclaw.core.session.commands import Advance, NoticesChanged, SessionCommand
from netclaw.core.session.effects import CallModel, Decision, Effect, Emit
from netclaw.core.session.events import (
    MAY_INTERLEAVE,
    Recorded,
    RoundRecorded,
    SessionEvent,
    TurnRecorded,
)
from netclaw.core.session.evolve import evolve
from netclaw.core.session.outputs import ErrorOutput, Output, TextDelta, TextOutput
from netclaw.core.session.sentences import MAYBE_RUN
from netclaw.core.session.settle import settle
from netclaw.core.session.state import Runtime, SessionState
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.frames import HostFault
from netclaw.session_proc.ids import new_id, new_reference
from netclaw.session_proc.mailbox import Letter, Mailbox
from netclaw.session_proc.outbound import Outbound
from netclaw.session_proc.snapshots import Snapshots
from netclaw.wire.convert import recorded_of
from netclaw.wire.v1 import common_pb2 as pb
from netclaw.wire.v1.session_host_pb2 import AppendFailed, Committed, Refused

STORAGE_CODES = frozenset(
    {
        ErrorCode.STORAGE_FULL,
        ErrorCode.STORAGE_READ_ONLY,
        ErrorCode.STORAGE_CORRUPT,
        ErrorCode.STORAGE_TIMEOUT,
        ErrorCode.SCHEMA_NEWER,
    }
)


class Rules(Protocol):
    """The pure core, with what the process knows about time and chance put in."""

    def __call__(
        self, state: SessionState, runtime: Runtime, command: SessionCommand, now_ms: int
    ) -> Decision:
        """Decide one command."""


class EffectRunner(Protocol):
    """Does what a decision asks for, and reports back by posting commands."""

    def call_early(self, effect: CallModel, state: SessionState, runtime: Runtime) -> None:
        """Start a model call whose TurnStarted is still being committed."""

    def cancel_early(self, token: DispatchToken) -> None:
        """Cancel it: the append was refused."""

    def perform(self, effect: Effect, state: SessionState, runtime: Runtime) -> None:
        """Perform one effect of a committed decision."""


@dataclass(slots=True)
class _InFlight:
    """The append that waits for the supervisor's answer."""

    letter: Letter
    decision: Decision
    append_id: str
    base: int
    at_ms: int


class Actor:
    """One session's mailbox and state. `post` and the three answers to an append are its inputs."""

    def __init__(
        self,
        *,
        rules: Rules,
        state: SessionState,
        runtime: Runtime,
        outbound: Outbound,
        snapshots: Snapshots,
        ending: Ending,
        now_ms: Callable[[], int],
        on_event: Callable[[Recorded, SessionState], None],
    ) -> None:
        self._rules = rules
        self.state = state
        self.runtime = runtime
        self._outbound = outbound
        self._snapshots = snapshots
        self._ending = ending
        self._now_ms = now_ms
        self._on_event = on_event
        self._mailbox = Mailbox()
        self._in_flight: _InFlight | None = None
        self._is_pumping = False
        self._effects: EffectRunner | None = None

    def attach(self, effects: EffectRunner) -> None:
        """Name what performs effects; it posts to this actor, so it is made after it."""
        self._effects = effects

    def post(
        self,
        command: SessionCommand,
        remainder: Callable[[], TextDelta | None] | None = None,
    ) -> None:
        """Put a command into the mailbox and go on if nothing is in flight."""
        self._mailbox.put(Letter(command, remainder))
        self._pump()

    def notice(self, change: NoticesChanged) -> None:
        """Take in what is open about one watched session, before whatever waits."""
        self._mailbox.put_notice(change)
        self._pump()

    def committed(self, message: Committed) -> None:
        """Apply committed rows, ours or foreign; raises `HostFault` if the order is broken."""
        flight = self._in_flight
        is_own = flight is not None and message.append_id == flight.append_id
        # Whatever an effect posts meanwhile waits until all effects of the decision are performed.
        self._is_pumping = True
        try:
            if flight is not None and is_own:
                self._own_committed(flight, message)
            else:
                self._foreign_committed(message)
        finally:
            self._is_pumping = False
        self._pump()

    def refused(self, message: Refused) -> None:
        """The head had moved: decide the same command again on what is known now."""
        flight = self._take_flight(message.append_id)
        if self.state.head != message.head:
            raise HostFault(f"refused at head {message.head}, but {self.state.head} was sent")
        for call in flight.decision.early:
            self._runner.cancel_early(call.token)
        self._mailbox.put_back(flight.letter)
        self._pump()

    def failed(self, message: AppendFailed) -> None:
        """Nothing of the append is stored and nothing more can be: tell people, then end."""
        flight = self._take_flight(message.append_id)
        for call in flight.decision.early:
            self._runner.cancel_early(call.token)
        self._mailbox.clear()
        code = _known_code(message.code)
        if code is ErrorCode.STALE_INCARNATION:
            self._ending.finish(ExitCode.FENCED)
        elif code in STORAGE_CODES:
            self._tell_storage_failure(message.sentence)
            self._ending.finish(ExitCode.STORAGE)
        else:
            self._ending.fail(HostFault(f"an append failed: {message.code} {message.sentence}"))

    @property
    def _runner(self) -> EffectRunner:
        if self._effects is None:
            raise HostFault("the actor has no effect runner")
        return self._effects

    def _pump(self) -> None:
        if self._is_pumping:
            return
        self._is_pumping = True
        try:
            while self._in_flight is None and not self._ending.is_decided:
                letter = self._mailbox.take()
                if letter is None:
                    return
                self._handle(letter)
        finally:
            self._is_pumping = False

    def _handle(self, letter: Letter) -> None:
        now = self._now_ms()
        decision = self._rules(self.state, self.runtime, letter.command, now)
        if decision.events:
            self._append(letter, decision, now)
            return
        self._outbound.emit(decision.outputs)
        for call in decision.early:
            self._runner.perform(call, self.state, decision.runtime)
        self._conclude(decision)

    def _append(self, letter: Letter, decision: Decision, now: int) -> None:
        # What needs no commit rides along: one frame less for every change of phase.
        riding = tuple(item.output for item in decision.effects if isinstance(item, Emit))
        rest = tuple(item for item in decision.effects if not isinstance(item, Emit))
        decision = replace(decision, effects=rest)
        snapshot = self._snapshots.of(decision)
        if snapshot is not None:
            grown = replace(decision.runtime, snapshot_bytes=len(snapshot.payload))
            decision = replace(decision, runtime=grown)
        flight = _InFlight(letter, decision, new_id(), self.state.head, now)
        self._in_flight = flight
        self._outbound.append(
            flight.append_id,
            decision,
            outputs=(*_with_remainder(letter, decision), *riding),
            expected_head=flight.base,
            at_ms=now,
            cause=type(letter.command).__name__,
            snapshot=snapshot,
            phase=decision.runtime.phase if self._changes_phase(decision) else None,
        )
        for call in decision.early:
            self._runner.call_early(call, decision.states[-1], decision.runtime)

    def _own_committed(self, flight: _InFlight, message: Committed) -> None:
        self._in_flight = None
        events = flight.decision.events
        if len(message.rows) != len(events):
            raise HostFault(f"{len(events)} events were sent, {len(message.rows)} were committed")
        for row, event, state in zip(message.rows, events, flight.decision.states, strict=True):
            # Our own objects: what was encoded need not be decoded, nor evolved again.
            is_as_decided = row.seq == state.head and row.at_ms == flight.at_ms
            self._evolve(
                row,
                Recorded(
                    seq=row.seq,
                    at=row.at_ms,
                    incarnation=row.incarnation,
                    cause=row.cause,
                    event=event,
                ),
                known=state if is_as_decided else None,
            )
        is_interleaved = self.state.head != flight.base + len(events)
        decision, again = settle(flight.decision, self.runtime, is_interleaved=is_interleaved)
        if again is not None:
            self._mailbox.put_back(Letter(again))
        self._conclude(decision)

    def _foreign_committed(self, message: Committed) -> None:
        calls_for_work = False
        for row in message.rows:
            if row.seq <= self.state.head:
                continue
            recorded = recorded_of(row)
            self._evolve(row, recorded)
            calls_for_work |= isinstance(recorded.event, MAY_INTERLEAVE)
        if calls_for_work:
            self._mailbox.put(Letter(Advance()))

    def _evolve(
        self, row: pb.JournalRow, recorded: Recorded, *, known: SessionState | None = None
    ) -> None:
        if row.seq != self.state.head + 1:
            raise HostFault(f"event {row.seq} was sent after {self.state.head}")
        self.state = evolve(self.state, recorded) if known is None else known
        self._on_event(recorded, self.state)

    def _conclude(self, decision: Decision) -> None:
        """The decision is in force: take its runtime, then do what it asks."""
        if not decision.events and self._changes_phase(decision):
            self._outbound.phase(decision.runtime.phase)
        self.runtime = decision.runtime
        for effect in decision.effects:
            self._runner.perform(effect, self.state, self.runtime)
        self._outbound.flush()

    def _changes_phase(self, decision: Decision) -> bool:
        return decision.runtime.phase is not self.runtime.phase

    def _take_flight(self, append_id: str) -> _InFlight:
        flight = self._in_flight
        if flight is None or flight.append_id != append_id:
            raise HostFault("an answer came to an append that is not in flight")
        self._in_flight = None
        return flight

    def _tell_storage_failure(self, sentence: str) -> None:
        """Decision 11: nothing can be recorded, so the people are told directly.

        Whoever waits in the buffer would hear as little of an end as who waits for the open turn.
        """
        turn = self.state.turn
        waiting = (*self.state.in_turn, *self.state.buffered)
        told = sentence or "Saving the session failed."
        self._outbound.emit(
            (
                ErrorOutput(
                    turn_id=turn.turn_id if turn else None,
                    category=ErrorCategory.STORAGE,
                    sentence=f"{told} {MAYBE_RUN}" if turn else told,
                    reference=new_reference(),
                    input_ids=tuple(item.admitted.input_id for item in waiting),
                ),
            )
        )
        self._outbound.flush()


def _with_remainder(letter: Letter, decision: Decision) -> tuple[Output, ...]:
    """Put streamed text that was never announced before the final text that contains it.

    Only where the record says that the text is out: a delta must not reach a person by an append
    that a heal would read as one without text.
    """
    outputs = decision.outputs
    if letter.remainder is None or not any(_is_text_out(event) for event in decision.events):
        return outputs
    place = next((i for i, output in enumerate(outputs) if isinstance(output, TextOutput)), None)
    delta = letter.remainder()
    if place is None or delta is None:
        return outputs
    return (*outputs[:place], delta, *outputs[place:])


def _is_text_out(event: SessionEvent) -> bool:
    return isinstance(event, TurnRecorded) or (
        isinstance(event, RoundRecorded) and event.is_text_released
    )


def _known_code(code: str) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.INTERNAL
