"""A decision in the making: what the rules write while they look at the state they change.

`record` applies each event to a scratch state at once, so a rule that follows another in the same
decision (the next turn after the end of one) sees what the first has done. Nothing of a draft
outlives `decide`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from netclaw.core.ids import DispatchToken, IdMaker, TurnId
from netclaw.core.session import open_work, snapshots
from netclaw.core.session import phase as phases
from netclaw.core.session.commands import TimerKind
from netclaw.core.session.effects import (
    CallModel,
    CancelTimer,
    Decision,
    Effect,
    Emit,
    Log,
    StartTimer,
)
from netclaw.core.session.events import Compacted, OutboxRow, Passivated, SessionEvent
from netclaw.core.session.evolve import preview
from netclaw.core.session.outputs import Output, ProcessingOutput
from netclaw.core.session.phase import Phase
from netclaw.core.session.state import OpenTurn, Runtime, SessionState
from netclaw.core.settings import SessionSettings


class Draft:
    """Collects the events, outputs and effects of one decision.

    `state` and `runtime` are as of what was recorded so far; rules replace `runtime` freely.
    """

    def __init__(
        self,
        state: SessionState,
        runtime: Runtime,
        *,
        now_ms: int,
        make_id: IdMaker,
        settings: SessionSettings,
        redact: Callable[[str], str],
    ) -> None:
        self.state = state
        self.runtime = runtime
        self.now_ms = now_ms
        self.make_id = make_id
        self.settings = settings
        self.redact = redact
        self._path: list[Phase] = [runtime.phase]
        self._needs_snapshot = False
        self._events: list[SessionEvent] = []
        self._states: list[SessionState] = []
        self._outputs: list[Output] = []
        self._outbox: list[OutboxRow] = []
        self._early: list[CallModel] = []
        self._effects: list[Effect] = []

    def record(self, event: SessionEvent) -> None:
        """Add an event to the append and see its effect in `state`."""
        self._events.append(event)
        self.state = preview(self.state, event, at=self.now_ms)
        self._states.append(self.state)

    def say(self, *outputs: Output) -> None:
        """Add outputs that the supervisor releases when the append is committed."""
        self._outputs.extend(outputs)

    def post(self, rows: Iterable[OutboxRow]) -> None:
        """Add replies to channels, committed with the append."""
        self._outbox.extend(rows)

    def perform(self, *effects: Effect) -> None:
        """Add effects that follow the commit, in this order."""
        self._effects.extend(effects)

    def token(self) -> DispatchToken:
        """A fresh name for one model call or tool launch."""
        return DispatchToken(self.make_id())

    def move(self, target: Phase) -> None:
        """Change the phase; raises `IllegalTransitionError` for a move the table does not list."""
        self.runtime = replace(self.runtime, phase=phases.move(self.runtime.phase, target))
        if target is not self._path[-1]:
            self._path.append(target)

    def rest_anew(self) -> None:
        """Something happened in a session at rest: its idle time begins again."""
        self.runtime = replace(self.runtime, idle_token="")

    def call_model(self, turn: OpenTurn) -> None:
        """Start the next model call of the turn."""
        self.perform(self._model_call(turn.turn_id, turn.rounds))

    def call_model_early(self, turn_id: TurnId) -> None:
        """Start the first model call of a turn while its TurnStarted is being committed."""
        self._early.append(self._model_call(turn_id, 0))

    def _model_call(self, turn_id: TurnId, round_index: int) -> CallModel:
        call = CallModel(token=self.token(), turn_id=turn_id, round=round_index)
        self.runtime = replace(self.runtime, model_token=call.token)
        return call

    def decision(self) -> Decision:
        """Everything that was collected, with what always follows from a change of phase."""
        self._snapshot_if_due()
        lead = self._phase_effects()
        return Decision(
            runtime=self.runtime,
            events=tuple(self._events),
            states=tuple(self._states),
            outputs=tuple(self._outputs),
            outbox=tuple(self._outbox),
            early=tuple(self._early),
            effects=(*lead, *self._effects),
            needs_snapshot=self._needs_snapshot,
        )

    def _snapshot_if_due(self) -> None:
        """Every 20 events, later for a large state; always with what needs one (decision 8)."""
        if not self._events:
            return
        is_needed = any(isinstance(event, Compacted | Passivated) for event in self._events)
        grown = self.state.head - self.runtime.snapshot_seq
        interval = snapshots.interval(
            self.settings.tuning.snapshot_interval_events, self.runtime.snapshot_bytes
        )
        if is_needed or grown >= interval:
            self._needs_snapshot = True
            self.runtime = replace(self.runtime, snapshot_seq=self.state.head)

    def _have_inputs_to_wait(self) -> bool:
        """Whether inputs wait in this phase: at work, and in Ready behind a turn that waits for
        people or in the child consent pause. Elsewhere their number changes with the phase.
        """
        phase = self.runtime.phase
        is_held = phase is Phase.READY and open_work.next_up(self.state) is None
        return is_held or phase in (Phase.PROCESSING, Phase.COMPACTING)

    def _phase_effects(self) -> tuple[Effect, ...]:
        """Only real work touches the idle timer: a change of phase, though it led back to Ready,
        or of what stopped the timer.
        """
        before, after = self._path[0], self._path[-1]
        waiting = len(self.state.buffered)
        shown = Emit(output=ProcessingOutput(phase=after, buffered_inputs=waiting))
        is_news = waiting != self.runtime.shown_waiting and self._have_inputs_to_wait()
        self.runtime = replace(self.runtime, shown_waiting=waiting)
        if before is after:
            has_worked = len(self._path) > 1
            is_let_go = after is Phase.READY and (has_worked or not self.runtime.idle_token)
            return (*([shown] if is_news else []), *(self._idle_timer() if is_let_go else ()))
        walked = " -> ".join(phase.value for phase in self._path)
        effects: list[Effect] = [Log(level="debug", text=f"phase {walked}"), shown]
        if after is Phase.READY:
            effects.extend(self._idle_timer())
        elif before is Phase.READY:
            self.runtime = replace(self.runtime, idle_token="")
            effects.append(CancelTimer(timer=TimerKind.IDLE))
        return tuple(effects)

    def _idle_timer(self) -> tuple[Effect, ...]:
        """Start it anew, unless something keeps the session up: then it starts when that ends."""
        idle_s = self.settings.tuning.idle_s
        if idle_s <= 0 or open_work.holds_session(self.state):
            return ()
        token = self.make_id()
        self.runtime = replace(self.runtime, idle_token=token)
        return (StartTimer(timer=TimerKind.IDLE, token=token, after_s=idle_s),)
