"""A session under everything at once: admissions, kills, drains, stops, slow frames, odd models."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from netclaw.core.authority import Authority
from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId, DispatchToken, InputId, SessionId
from netclaw.core.session import commands as c
from netclaw.core.session import goals
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.events import InputAdmitted
from netclaw.core.session.evolve import replay
from netclaw.core.session.goal_events import GoalSet, GoalStatus
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.session.rulings import ALLOWED, CallRuling
from netclaw.core.session.runnable import has_runnable_work, waits_for_people
from netclaw.core.session.state import SessionState
from netclaw.core.tool_call import OutcomeCategory, ToolReceipt, ToolResult
from netclaw.testing.people import OPERATOR, WAKE
from tests.properties.inputs import OPTIONS, PICTURE, POSITION, SENDERS, TEXTS, TOKENS
from tests.properties.moves import RULINGS, answer_of, finish
from tests.properties.process import Process
from tests.properties.watched import ADA, TARGETS
from tests.properties.world import World


class SessionMachine(RuleBasedStateMachine):
    """Drives a World; every rule is one thing that may happen in a daemon."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.admitted = 0

    def alive(self) -> Process:
        assert self.world.process is not None
        return self.world.process

    @initialize(sender=SENDERS)
    def a_turn_is_on_its_way(self, sender: Authority) -> None:
        self.admit(sender)
        self.world.start()
        self.world.settle()

    # People and the supervisor

    @precondition(lambda self: self.admitted < 12)
    @rule(
        sender=SENDERS,
        attended=st.sampled_from([True, True, False]),
        text=st.sampled_from(TEXTS),
        has_picture=st.sampled_from([False] * 7 + [True]),
    )
    def admit(
        self,
        sender: Authority,
        attended: bool = True,
        text: str = "hello",
        has_picture: bool = False,
    ) -> None:
        self.admitted += 1
        self.world.admit(
            InputAdmitted(
                input_id=InputId(f"i{self.admitted}"),
                source_message_id=None,
                text=text,
                authority=sender,
                attended=attended,
                media=(PICTURE,) if has_picture else (),
            )
        )

    @precondition(lambda self: self.admitted < 12 and self.world.states[-1].turn)
    @rule()
    def the_same_person_adds_something(self) -> None:
        turn = self.world.states[-1].turn
        assert turn is not None
        self.admit(turn.authority)

    @rule(session_id=st.sampled_from(TARGETS), by_itself=st.sampled_from([False, False, True]))
    def a_watched_session_changes(self, session_id: SessionId, by_itself: bool) -> None:
        self.world.tell(self.world.watched.change(session_id, by_itself=by_itself))

    @precondition(lambda self: self.admitted < 12 and self.world.watched.open)
    @rule()
    def the_watcher_is_woken(self) -> None:
        self.admit(WAKE)

    @rule(text=st.sampled_from(["", "Ship it", "Ship less"]), status=st.sampled_from(GoalStatus))
    def the_goal_is_set(self, text: str, status: GoalStatus) -> None:
        before = self.world.states[-1].goal
        event = GoalSet(text=text, status=status, actor=ADA)
        if goals.of_event(event) != before:
            self.world.admit(event)
            assert self.world.states[-1].goal == goals.of_event(event)

    @precondition(lambda self: bool(self.world.rules.requests))
    @rule(position=POSITION, option=OPTIONS, sender=SENDERS, is_requester=st.booleans())
    def answer(self, position: int, option: str, sender: Authority, is_requester: bool) -> None:
        """Somebody answers a prompt, be it open or not."""
        turn = self.world.states[-1].turn
        calls = list(self.world.rules.requests)
        by = turn.authority if turn is not None and is_requester else sender
        self.world.admit(answer_of(CallId(calls[position % len(calls)]), option, by))

    def person_answers(self, option: str) -> None:
        """The one whose turn it is answers what is open."""
        turn = self.world.states[-1].turn
        requests = self.world.rules.requests
        waiting = [call for call, state in requests.items() if state == "open"]
        if turn is not None and waiting:
            by = turn.authority if turn.authority.requester.principal.is_person else OPERATOR
            self.world.admit(answer_of(CallId(waiting[0]), option, by))

    @precondition(lambda self: self.world.process and self.world.process.rechecks)
    @rule(position=POSITION, ruling=st.sampled_from(RULINGS))
    def call_is_judged(self, position: int, ruling: CallRuling) -> None:
        self.world.finish_recheck(position, ruling)

    @precondition(lambda self: self.world.process is None)
    @rule()
    def start(self) -> None:
        self.world.start()

    @precondition(lambda self: self.world.process is not None)
    @rule(is_write_done=st.booleans(), odds=st.integers(min_value=0, max_value=3))
    def kill(self, is_write_done: bool, odds: int) -> None:
        if odds == 0:
            self.world.kill(is_write_done=is_write_done)

    @precondition(lambda self: self.world.process is not None)
    @rule(then=st.sampled_from(AfterDrain), odds=st.integers(min_value=0, max_value=2))
    def drain(self, then: AfterDrain, odds: int) -> None:
        if odds == 0:
            self.alive().mailbox.append(c.Drain(then=then, budget_s=20.0))

    @precondition(lambda self: self.world.process is not None)
    @rule(
        command=st.sampled_from(
            [
                c.StopTurn(actor="operator"),
                c.Passivate(reason="room"),
                c.Compact(actor="operator"),
                c.ChangeInterest(interest=OutputFilter(0)),
                c.ChangeInterest(interest=OutputFilter.ALL),
                c.ChangeInterest(interest=OutputFilter.TEXT),
                c.Advance(),
                c.Recover(),
            ]
        )
    )
    def command(self, command: c.SessionCommand) -> None:
        self.alive().mailbox.append(command)

    # Frames and commands move

    @precondition(lambda self: bool(self.world.queue))
    @rule()
    def write(self) -> None:
        self.world.write()

    @precondition(lambda self: self.world.can_deliver)
    @rule()
    def deliver(self) -> None:
        self.world.deliver()

    @precondition(lambda self: self.world.can_step)
    @rule()
    def step(self) -> None:
        self.world.step()

    @rule()
    def settle(self) -> None:
        self.world.settle()

    # The model, the tools, the timers

    @rule(
        calls=st.integers(min_value=1, max_value=3),
        rulings=st.lists(st.sampled_from(RULINGS), max_size=2),
        ruling=st.sampled_from(RULINGS),
        option=OPTIONS,
        streams=st.booleans(),
    )
    def work_goes_on(
        self, calls: int, rulings: list[CallRuling], ruling: CallRuling, option: str, streams: bool
    ) -> None:
        """What the session waits for happens, by model, tools, judge or people, and it rests."""
        if self.world.is_start_due:
            self.world.start()
        self.world.settle()
        process = self.world.process
        if process is None:
            return
        if process.tools:
            self.end_tool(0, OutcomeCategory.SUCCESS)
        elif process.rechecks:
            self.world.finish_recheck(0, ruling)
        elif process.model_calls:
            if streams:
                self.model_streams()
            ended = finish(self.take_model_call(), calls=calls, rulings=rulings)
            process.mailbox.append(ended)
        elif self.world.states[-1].turn is not None:
            self.person_answers(option)
        self.world.settle()

    @precondition(lambda self: self.world.process and self.world.process.model_calls)
    @rule(
        text=st.sampled_from(["", "", "answer", "preamble"]),
        calls=st.integers(min_value=0, max_value=3),
        faulty=st.integers(min_value=0, max_value=1),
        rulings=st.lists(st.sampled_from(RULINGS), max_size=3),
        tokens=TOKENS,
    )
    def model_ends(
        self, text: str, calls: int, faulty: int, rulings: list[CallRuling], tokens: int
    ) -> None:
        token = self.take_model_call()
        ended = finish(token, text, calls=calls, faulty=faulty, tokens=tokens, rulings=rulings)
        self.alive().mailbox.append(ended)

    @precondition(lambda self: self.world.process and self.world.process.model_calls)
    @rule()
    def model_is_cut_at_its_limit(self) -> None:
        cut = replace(finish(self.take_model_call(), "half"), finish=c.FinishReason.LENGTH)
        self.alive().mailbox.append(cut)

    @precondition(lambda self: self.world.process and self.world.process.notes)
    @rule(text=st.sampled_from(["", "Notes."]), fails=st.booleans())
    def notes_end(self, text: str, fails: bool) -> None:
        token = self.alive().notes.pop(0)
        self.alive().mailbox.append(
            c.FailNotes(token=token, sentence="Down.")
            if fails
            else c.FinishNotes(token=token, text=text)
        )

    @precondition(lambda self: self.world.process and self.world.process.titles)
    @rule(text=st.sampled_from(["", "A title"]), fails=st.booleans(), is_doubled=st.booleans())
    def title_ends(self, text: str, fails: bool, is_doubled: bool) -> None:
        token = self.alive().titles.pop(0)
        ended = (
            c.FailTitle(token=token, sentence="Down.")
            if fails
            else c.FinishTitle(token=token, text=text)
        )
        self.alive().mailbox.extend([ended] * (1 + is_doubled))

    @precondition(lambda self: self.world.process and self.world.process.distillations)
    @rule()
    def distillation_ends(self) -> None:
        token = self.alive().distillations.pop(0)
        self.alive().mailbox.append(c.FinishDistillation(token=token))

    @precondition(lambda self: self.world.process and self.world.process.model_calls)
    @rule(is_context_overflow=st.booleans())
    def model_fails(self, is_context_overflow: bool) -> None:
        self.alive().mailbox.append(
            c.FailRound(
                token=self.take_model_call(),
                category=ErrorCategory.TIMEOUT,
                sentence="The model fell silent.",
                reference="r",
                is_context_overflow=is_context_overflow,
            )
        )

    @precondition(lambda self: self.world.process and self.world.process.model_calls)
    @rule()
    def model_streams(self) -> None:
        self.alive().mailbox.append(c.BeginOutput(token=next(iter(self.alive().model_calls))))

    @precondition(lambda self: self.world.process and self.world.process.old_tokens)
    @rule(position=POSITION)
    def model_answers_late(self, position: int) -> None:
        old = self.alive().old_tokens
        self.alive().mailbox.append(finish(old[position % len(old)], "late", calls=1))

    @precondition(lambda self: self.world.process and self.world.process.tools)
    @rule(
        position=POSITION,
        category=st.sampled_from(list(OutcomeCategory)),
        is_doubled=st.booleans(),
    )
    def tool_ends(self, position: int, category: OutcomeCategory, is_doubled: bool) -> None:
        ended = self.end_tool(position, category)
        if is_doubled:
            self.alive().mailbox.append(ended)

    @precondition(lambda self: self.world.process and self.world.process.timers)
    @rule(position=POSITION)
    def timer_fires(self, position: int) -> None:
        timers = self.alive().timers
        kind = list(timers)[position % len(timers)]
        self.alive().mailbox.append(c.FireTimer(timer=kind, token=timers.pop(kind)))

    @rule(seconds=st.floats(min_value=0, max_value=100))
    def time_passes(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    def take_model_call(self) -> DispatchToken:
        process = self.alive()
        token = next(iter(process.model_calls))
        del process.model_calls[token]
        process.old_tokens.append(token)
        return token

    def end_tool(self, position: int, category: OutcomeCategory) -> c.FinishTool:
        process = self.alive()
        tokens = list(process.tools)
        launched = process.tools.pop(tokens[position % len(tokens)])
        ended = c.FinishTool(
            token=launched.token,
            name=launched.call.name,
            result=ToolResult(
                call_id=launched.call.call_id, text="r", receipt=ToolReceipt(category=category)
            ),
        )
        process.mailbox.append(ended)
        return ended

    # What must hold

    @invariant()
    def the_process_knows_a_prefix_of_the_journal(self) -> None:
        process = self.world.process
        if process is not None:
            assert process.state == self.world.states[process.state.head]

    def go_on(self, process: Process) -> bool:
        """Whatever the process waits for ends well; False if it waits for nothing."""
        if process.tools:
            self.end_tool(0, OutcomeCategory.SUCCESS)
        elif process.rechecks:
            self.world.finish_recheck(0, ALLOWED)
        elif process.model_calls:
            process.mailbox.append(finish(self.take_model_call(), "answer"))
        elif process.notes:
            process.mailbox.append(c.FinishNotes(token=process.notes.pop(0), text="Notes."))
        elif process.timers:
            kind = next(iter(process.timers))
            process.mailbox.append(c.FireTimer(timer=kind, token=process.timers.pop(kind)))
        else:
            return False
        return True

    def wake_up(self) -> bool:
        """The supervisor wakes the watcher if it has something to tell and nothing else to do."""
        is_due = bool(self.world.watched.open) and not self.world.states[-1].buffered
        if is_due:
            self.admit(WAKE)
        return is_due

    def teardown(self) -> None:
        """Left alone with a model that answers, the session answers everything and rests."""
        world = self.world
        for _ in range(40 * (self.admitted + 2)):
            if world.is_start_due:
                world.start()
            world.settle()
            process = world.process
            waiting = [call for call, state in world.rules.requests.items() if state == "open"]
            if process is not None:
                if not self.go_on(process) and not self.wake_up():
                    break
            elif waiting and not world.is_start_due:
                assert waits_for_people(world.states[-1]), "rests with work to do"
                world.admit(answer_of(CallId(waiting[0]), "refuse", OPERATOR))
            elif not world.is_start_due and not self.wake_up():
                break
        assert not has_runnable_work(world.states[-1]), "work was left undone"
        assert world.states[-1] == replay(SessionState(), world.rows)
        assert set(world.rules.consumed) == {f"i{n + 1}" for n in range(self.admitted)}
        assert world.rules.waiting == []
        world.watched.check_rest()


SessionMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=60)
TestSession = pytest.mark.timeout(60)(
    pytest.mark.requirement("core.exactly-once")(
        pytest.mark.requirement("consent.invariants")(
            pytest.mark.requirement("signals.invariants")(SessionMachine.TestCase)
        )
    )
)
