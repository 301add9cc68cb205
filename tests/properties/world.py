"""A session process, the writer thread and the supervisor in small, for the state machine.

Everything that is concurrent in the daemon is a separate step here: a frame in either direction
waits in a queue until a step moves it, and a kill may fall between any two steps.
"""

from __future__ import annotations

import json
from collections import deque

from netclaw.core.messages import UserMessage
from netclaw.core.session import commands as c
from netclaw.core.session import effects as fx
from netclaw.core.session import events as ev
from netclaw.core.session.consent import is_held, is_parked
from netclaw.core.session.decide import decide
from netclaw.core.session.evolve import evolve, replay
from netclaw.core.session.goal_events import GoalSet
from netclaw.core.session.phase import Phase
from netclaw.core.session.request import build_messages
from netclaw.core.session.rulings import CallRuling, Outcome
from netclaw.core.session.runnable import has_runnable_work
from netclaw.core.session.settle import settle
from netclaw.core.session.state import Runtime, SessionState
from netclaw.core.session.turn_join import joiners, preemptor
from netclaw.core.settings import (
    ModelSettings,
    ProviderType,
    SessionSettings,
    SessionTuning,
    SupervisionSettings,
)
from netclaw.core.signals.cursors import NoticeChange
from netclaw.core.supervision import CrashRecord, DeathCause, judge_death, poison_events
from netclaw.core.tool_call import ToolCall
from netclaw.testing.clock import FakeClock
from netclaw.testing.ids import SeededIds
from netclaw.testing.people import WAKE
from netclaw.testing.story import Story
from tests.properties.journal_rules import JournalRules, check_pairs
from tests.properties.process import Append, Process
from tests.properties.request_rules import OpenRequests
from tests.properties.watched import Watched

SETTINGS = SessionSettings(
    tuning=SessionTuning(idle_s=60.0, title_interval_turns=1),
    main_model=ModelSettings(
        provider="p",
        provider_type=ProviderType.OPENAI_COMPATIBLE,
        endpoint="http://127.0.0.1:1",
        model_id="m",
        context_window=300,
    ),
)
"""A window of some 50 short messages."""


NEVER_QUARANTINED = SupervisionSettings(quarantine_crashes=10**6)


class World:
    """The journal, at most one process, and the supervisor's rules about them."""

    def __init__(self, seed: int = 1) -> None:
        self.clock = FakeClock()
        self.make_id = SeededIds(seed)
        self.rows: list[ev.Recorded] = []
        self.states = [SessionState()]
        """The state after each row: what any process must come to."""
        self.rules = JournalRules()
        self.requests = OpenRequests()
        self.watched = Watched()
        self.queue: deque[Append] = deque()
        self.process: Process | None = None
        self.incarnation = 0
        self.snapshot: tuple[int, SessionState] = (0, SessionState())
        self.crashes = CrashRecord()
        self.run_calls: set[str] = set()
        self.judged: dict[str, Outcome] = {}
        """The last ruling of each call that was judged before its launch."""
        self._commit(tuple(Story().events()))

    # The writer and the supervisor

    def _commit(
        self, events: tuple[ev.SessionEvent, ...], *, own: bool = False, at: int | None = None
    ) -> None:
        rows = tuple(
            ev.Recorded(
                seq=len(self.rows) + 1 + n,
                at=self.clock.now_ms() if at is None else at,
                incarnation=self.incarnation,
                cause="",
                event=event,
            )
            for n, event in enumerate(events)
        )
        for row in rows:
            self.rules.check(row)
            self.states.append(evolve(self.states[-1], row))
            self.requests.check(row, self.states[-1])
            self.tell(self.watched.follow(row.event))
        self.rows.extend(rows)
        if self.process is not None and (own or not self.has_passivated):
            self.process.inbound.append(("own" if own else "foreign", rows))

    def admit(self, event: ev.InputAdmitted | ev.AnswerAdmitted | GoalSet) -> None:
        """The supervisor makes an input, an answer or a goal durable."""
        self._commit((event,))

    def tell(self, changes: tuple[NoticeChange, ...]) -> None:
        """The process is told of its notices, before any row of the same transaction."""
        if self.process is not None and not self.has_passivated:
            self.process.inbound.extend(changes)

    def write(self) -> None:
        """The writer handles the oldest append."""
        append = self.queue.popleft()
        if append.incarnation != self.incarnation or self.process is None:
            return
        since = self.rows[append.expected_head :]
        is_exact = any(isinstance(item, ev.Passivated | ev.Compacted) for item in append.events)
        if all(isinstance(row.event, ev.MAY_INTERLEAVE) for row in since) and not (
            since and is_exact
        ):
            self._commit(append.events, own=True, at=append.at)
        else:
            self.process.inbound.append(("refused", ()))

    def start(self) -> None:
        """A new incarnation reads snapshot and tail and recovers."""
        assert self.process is None
        self.incarnation += 1
        seq, snapshot = self.snapshot
        state = replay(snapshot, self.rows[seq:])
        assert state == self.states[-1], "snapshot and tail are not the journal"
        self.process = Process(
            incarnation=self.incarnation,
            state=state,
            runtime=Runtime(snapshot_seq=seq, notices=self.watched.open),
        )
        self.process.mailbox.append(c.Recover())

    def kill(self, *, is_write_done: bool) -> None:
        """kill -9; an append on its way may or may not reach the database first."""
        if is_write_done and self.queue:
            self.write()
        self.queue.clear()
        self.process = None
        turn = self.states[-1].turn
        turn_id = turn.turn_id if turn else None
        self._commit((ev.CrashRecorded(exit_status=-9, turn_id=turn_id, attempt=1),))
        state = self.states[-1]
        verdict = judge_death(
            self.crashes,
            DeathCause.CRASH,
            turn_crashes=state.turn.crashes if state.turn else 0,
            now_ms=self.clock.now_ms(),
            settings=NEVER_QUARANTINED,
        )
        self.crashes = verdict.record
        if verdict.is_poison:
            self._commit(poison_events(state, "ref"))

    # The process

    def deliver(self) -> None:
        """The process takes the next frame."""
        process = self._alive()
        frame = process.inbound.popleft()
        if isinstance(frame, NoticeChange):
            # As the mailbox of a real process does: before whatever waits, the last word of each.
            others = [
                item
                for item in process.mailbox
                if not (isinstance(item, c.NoticesChanged) and item.target == frame.target)
            ]
            change = c.NoticesChanged(target=frame.target, notice=frame.notice)
            process.mailbox = deque((change, *others))
            return
        kind, rows = frame
        if kind == "refused":
            self._refused(process)
            return
        for row in rows:
            process.state = evolve(process.state, row)
        if kind == "own":
            self._committed(process)
        else:
            process.mailbox.append(c.Advance())

    def step(self) -> None:
        """The process handles its next command."""
        process = self._alive()
        command = process.mailbox.popleft()
        decision = decide(
            process.state,
            process.runtime,
            command,
            now_ms=self.clock.now_ms(),
            make_id=self.make_id,
            settings=SETTINGS,
        )
        turn = process.state.turn
        if isinstance(command, c.Recover) and turn is not None and is_held(turn):
            failed = [item for item in decision.events if isinstance(item, ev.TurnFailed)]
            is_ended = any(item.turn_id == turn.turn_id for item in failed)
            assert decision.runtime.drain or not is_ended, "a start ended a turn that people hold"
        if not decision.events:
            assert not decision.early
            self._conclude(process, decision)
            return
        base = process.state.head
        process.in_flight = (command, decision, base)
        self.queue.append(Append(process.incarnation, base, decision.events, self.clock.now_ms()))
        for call in decision.early:
            self._call_model(process, call, decision.states[-1], decision.runtime)

    def _committed(self, process: Process) -> None:
        assert process.in_flight is not None
        _, decision, base = process.in_flight
        process.in_flight = None
        is_exact = process.state.head == base + len(decision.events)
        if is_exact:
            assert decision.states[-1] == process.state, "a decision foresaw another state"
        if decision.needs_snapshot and is_exact:
            self.snapshot = (process.state.head, process.state)
        decision, again = settle(decision, process.runtime, is_interleaved=not is_exact)
        if again is not None:
            process.mailbox.appendleft(again)
        self._conclude(process, decision)

    def _refused(self, process: Process) -> None:
        assert process.in_flight is not None
        command, decision, _ = process.in_flight
        process.in_flight = None
        for call in decision.early:
            process.model_calls.pop(call.token, None)
        process.mailbox.appendleft(command)

    def _conclude(self, process: Process, decision: fx.Decision) -> None:
        process.runtime = decision.runtime
        for effect in decision.effects:
            self._perform(process, effect)
        assert len(process.model_calls) <= 1, "two model calls at a time"
        is_compacting = decision.runtime.phase is Phase.COMPACTING
        assert is_compacting == (decision.runtime.compaction is not None)
        assert not (is_compacting and process.model_calls), "a model call over a shrinking history"
        is_resting = decision.runtime.phase is Phase.READY and decision.runtime.drain is None
        if is_resting and process.state.turn is not None:
            assert is_parked(process.state), "a session rests although its turn could go on"
            work = (process.tools, process.rechecks, process.model_calls)
            assert not any(work), "a session rests while something runs"
        is_winding_down = decision.runtime.phase is Phase.PASSIVATING
        assert is_winding_down or not process.distillations, "memory reads on while it works"
        if process.has_exited:
            assert self.has_passivated, "a process ended without its Passivated"
            self.process = None

    def _perform(self, process: Process, effect: fx.Effect) -> None:
        match effect:
            case fx.CallModel():
                self._call_model(process, effect, process.state, process.runtime)
            case fx.CancelModel():
                process.old_tokens.append(effect.token)
                process.model_calls.pop(effect.token, None)
            case fx.RunTool():
                assert effect.call.call_id in self.rules.launched, "run before it was recorded"
                assert effect.call.call_id not in self.run_calls, "a tool ran twice"
                self._check_ruling(effect.call)
                self.run_calls.add(effect.call.call_id)
                process.tools[effect.token] = effect
            case fx.RecheckCall():
                assert effect.call.call_id not in self.rules.launched, "judged after its launch"
                process.rechecks.append(effect)
            case fx.StartTimer():
                process.timers[effect.timer] = effect.token
            case fx.CancelTimer():
                process.timers.pop(effect.timer, None)
            case fx.ExitProcess():
                process.has_exited = True
            case fx.ReleaseDeltas():
                turn = self.rules.turn
                assert turn is not None
                assert turn.has_text_out, "deltas left before OutputStarted"
            case _:
                self._perform_beside(process, effect)

    def _perform_beside(self, process: Process, effect: fx.Effect) -> None:
        match effect:
            case fx.CallNotes():
                assert not process.notes, "two notes calls at a time"
                process.notes.append(effect.token)
            case fx.CancelSidecar():
                process.notes = [item for item in process.notes if item != effect.token]
                process.distillations = [
                    item for item in process.distillations if item != effect.token
                ]
            case fx.CallTitle():
                assert not process.titles, "two title calls at a time"
                process.titles.append(effect.token)
            case fx.DistilMemory():
                assert not process.distillations, "two distillations at a time"
                assert effect.up_to_seq == process.state.head
                process.distillations.append(effect.token)
            case _:
                pass

    def _check_ruling(self, call: ToolCall) -> None:
        """A call runs if the last judgement lets it, by itself or because a person approved."""
        outcome = self.judged.get(call.call_id, Outcome(json.loads(call.arguments)["ruling"]))
        is_approved = self.rules.requests.get(call.call_id) == "once"
        assert outcome is Outcome.ALLOWED or (
            outcome is Outcome.REQUIRES_CONSENT and is_approved
        ), "a call ran that may not"

    def finish_recheck(self, position: int, ruling: CallRuling) -> None:
        """A call that was to be judged is."""
        process = self._alive()
        effect = process.rechecks.pop(position % len(process.rechecks))
        self.judged[effect.call.call_id] = ruling.outcome
        process.mailbox.append(c.FinishRecheck(call_id=effect.call.call_id, ruling=ruling))

    def _call_model(
        self, process: Process, call: fx.CallModel, state: SessionState, runtime: Runtime
    ) -> None:
        assert state.turn is not None
        assert call.turn_id == state.turn.turn_id
        if state.turn.batch and not runtime.nudge:
            missed = joiners(state.turn, state.buffered, model=SETTINGS.main_model, kind=state.kind)
            assert not missed, "an input missed the boundary"
            assert preemptor(state) is None, "a person missed the boundary"
        messages = build_messages(state, runtime)
        check_pairs(messages)
        self.watched.check_request(state.turn, messages)
        inputs = [item.input_id for item in messages if isinstance(item, UserMessage)]
        assert len(inputs) == len(set(inputs)), "an input is told twice"
        written = {
            item.admitted.input_id
            for item in state.in_turn
            if item.admitted.authority != WAKE  # nobody wrote it: its notices say all there is
        }
        assert set(inputs) >= written, "an input is not told"
        process.model_calls[call.token] = messages

    def _alive(self) -> Process:
        assert self.process is not None
        return self.process

    # What may happen next

    @property
    def has_passivated(self) -> bool:
        """Whether this incarnation's Passivated is committed: its stream is silent from there."""
        return self.rules.passivated_by == self.incarnation

    @property
    def can_deliver(self) -> bool:
        return self.process is not None and bool(self.process.inbound)

    @property
    def can_step(self) -> bool:
        process = self.process
        return process is not None and process.in_flight is None and bool(process.mailbox)

    @property
    def is_start_due(self) -> bool:
        return self.process is None and has_runnable_work(self.states[-1])

    def settle(self) -> None:
        """Move every frame and command until nothing is left to move. Must end."""
        for _ in range(10_000):
            if self.can_step:
                self.step()
            elif self.can_deliver:
                self.deliver()
            elif self.queue:
                self.write()
            else:
                return
        message = "the session does not come to rest"
        raise AssertionError(message)
