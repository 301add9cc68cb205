"""Tells the story of a session: given events, when a command, then events and effects.

A `Story` is one journal, one state and the runtime of the current process. It does what the shell
does with a decision (commit, evolve, replace the runtime) and nothing more: model and tools are
the test's to play, with commands made here from whatever is in flight.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from netclaw.core.authority import Authority, SourceKind
from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId, DispatchToken, InputId
from netclaw.core.messages import Message, Usage
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.commands import (
    Advance,
    Drain,
    FailRound,
    FinishReason,
    FinishRecheck,
    FinishRound,
    FinishTool,
    FireTimer,
    ProposedCall,
    Recover,
    SessionCommand,
    TimerKind,
)
from netclaw.core.session.consent_events import ConsentEffect, ConsentOption
from netclaw.core.session.decide import decide
from netclaw.core.session.effects import Decision, RunTool
from netclaw.core.session.events import (
    AnswerAdmitted,
    InputAdmitted,
    Recorded,
    SessionCreated,
    SessionEvent,
    SessionKind,
)
from netclaw.core.session.evolve import evolve
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.session.request import build_messages
from netclaw.core.session.rulings import ALLOWED, CallRuling, Outcome
from netclaw.core.session.state import Runtime, SessionState
from netclaw.core.settings import SessionSettings
from netclaw.core.tool_call import OutcomeCategory, ToolReceipt, ToolResult
from netclaw.testing.clock import FakeClock
from netclaw.testing.ids import SeededIds
from netclaw.testing.people import OPERATOR, SESSION

USAGE = Usage(input_tokens=100, output_tokens=10)
NEEDS_CONSENT = CallRuling(
    outcome=Outcome.REQUIRES_CONSENT,
    display="ls",
    candidates=("ls",),
    options=(
        ConsentOption(key="once", label="Once", effect=ConsentEffect.APPROVE),
        ConsentOption(key="refuse", label="Refuse", effect=ConsentEffect.REFUSE),
    ),
)
"""What authorization says of a call that a person may let run once."""
SHELL = ProposedCall(
    provider_call_id="call_0",
    name="shell_execute",
    arguments='{"command":"ls"}',
    ruling=ALLOWED,
)


class Story:
    """One session from its first event on; see the module's words."""

    def __init__(
        self,
        *,
        settings: SessionSettings | None = None,
        interest: OutputFilter = OutputFilter(0),
        seed: int = 1,
    ) -> None:
        self.settings = settings or SessionSettings()
        self.clock = FakeClock()
        self.make_id = SeededIds(seed)
        self.journal: list[Recorded] = []
        self.state = SessionState()
        self.runtime = Runtime(interest=interest)
        self.incarnation = 1
        self.last = Decision(runtime=self.runtime)
        self._inputs = 0
        self.given(
            SessionCreated(
                session_id=SESSION,
                kind=SessionKind.MAIN,
                channel=SourceKind.CLI,
                audience=OPERATOR.requester.audience,
                life=1,
            )
        )

    # Given

    def given(self, *events: SessionEvent) -> Story:
        """Commit events as facts, whoever authored them."""
        for event in events:
            row = Recorded(
                seq=len(self.journal) + 1,
                at=self.clock.now_ms(),
                incarnation=self.incarnation,
                cause="",
                event=event,
            )
            self.journal.append(row)
            self.state = evolve(self.state, row)
        return self

    def input(
        self,
        text: str = "hello",
        *,
        by: Authority = OPERATOR,
        source_id: str | None = None,
        attended: bool | None = None,
    ) -> InputAdmitted:
        """An admitted input that is not committed yet; ids are i1, i2, ..."""
        self._inputs += 1
        return InputAdmitted(
            input_id=InputId(f"i{self._inputs}"),
            source_message_id=source_id,
            text=text,
            authority=by,
            attended=by.requester.principal.is_person if attended is None else attended,
        )

    # When

    def ask(self, command: SessionCommand) -> Decision:
        """Decide without committing anything."""
        return decide(
            self.state,
            self.runtime,
            command,
            now_ms=self.clock.now_ms(),
            make_id=self.make_id,
            settings=self.settings,
        )

    def when(self, command: SessionCommand) -> Decision:
        """Decide and commit, as the shell does when nothing interferes."""
        decision = self.ask(command)
        self.given(*decision.events)
        self.runtime = decision.runtime
        self.last = decision
        return decision

    def admit(
        self, text: str = "hello", *, by: Authority = OPERATOR, attended: bool | None = None
    ) -> Decision:
        """The supervisor commits an input and the process looks at it."""
        self.given(self.input(text, by=by, attended=attended))
        return self.when(Advance())

    def start(self) -> Decision:
        """A process starts: heal and take up work."""
        return self.when(Recover())

    def crash(self) -> Story:
        """kill -9: the runtime is gone, the journal stays; `start` comes next."""
        self.incarnation += 1
        self.runtime = Runtime(interest=self.runtime.interest)
        return self

    # The model and the tools, played by the test

    @property
    def model_token(self) -> DispatchToken:
        """The model call in flight."""
        token = self.runtime.model_token
        if token is None:
            message = "no model call is in flight"
            raise AssertionError(message)
        return token

    def answered(
        self,
        text: str = "",
        *,
        calls: Iterable[ProposedCall] = (),
        thinking: str = "",
        finish: FinishReason | None = None,
        usage: Usage = USAGE,
        are_tools_offered: bool = True,
        token: DispatchToken | None = None,
    ) -> FinishRound:
        """The model call in flight ends like this."""
        proposed = tuple(calls)
        usual = FinishReason.TOOL_CALLS if proposed else FinishReason.STOP
        return FinishRound(
            token=token or self.model_token,
            text=text,
            thinking=thinking,
            calls=proposed,
            finish=finish or usual,
            usage=usage,
            model="test-model",
            are_tools_offered=are_tools_offered,
        )

    def failed(self, *, token: DispatchToken | None = None) -> FailRound:
        """The model call in flight fails."""
        return FailRound(
            token=token or self.model_token,
            category=ErrorCategory.TIMEOUT,
            sentence="The model fell silent.",
            reference="ref12345",
        )

    def tool_ended(
        self,
        position: int = 0,
        *,
        text: str = "done",
        category: OutcomeCategory = OutcomeCategory.SUCCESS,
    ) -> FinishTool:
        """The running tool at this position ends."""
        running = self.runtime.running[position]
        return FinishTool(
            token=running.token,
            name=SHELL.name,
            result=ToolResult(
                call_id=running.call_id, text=text, receipt=ToolReceipt(category=category)
            ),
        )

    def answer(self, text: str = "the answer") -> Decision:
        """The model answers and the turn ends."""
        return self.when(self.answered(text))

    def call_tools(self, count: int = 1, *, text: str = "") -> Decision:
        """The model asks for this many shell calls."""
        calls = (replace(SHELL, provider_call_id=f"call_{n}") for n in range(count))
        return self.when(self.answered(text, calls=calls))

    def finish_tools(self) -> Decision:
        """All running tools end well."""
        while self.runtime.running:
            self.when(self.tool_ended())
        return self.last

    # People who are asked for consent, and whoever judges calls

    def ask_consent(self, count: int = 1, *, beside: int = 0) -> Decision:
        """The model asks for calls that need consent, and for others that do not."""
        needing = (replace(SHELL, ruling=NEEDS_CONSENT) for _ in range(count))
        allowed = (SHELL for _ in range(beside))
        return self.when(self.answered(calls=(*needing, *allowed)))

    def call_id(self, position: int = 0) -> CallId:
        """The call at this place of the open batch."""
        turn = self.state.turn
        if turn is None:
            message = "no turn is open"
            raise AssertionError(message)
        return turn.batch[position].call.call_id

    def choice(
        self, option: str = "once", *, call: CallId | None = None, by: Authority = OPERATOR
    ) -> AnswerAdmitted:
        """An answer that is not committed yet, to the first call unless another is named."""
        requester = by.requester
        return AnswerAdmitted(
            call_id=call or self.call_id(),
            option=option,
            answerer=requester.sender_id or "",
            boundary=requester.boundary,
            principal=requester.principal,
        )

    def choose(
        self, option: str = "once", *, call: CallId | None = None, by: Authority = OPERATOR
    ) -> Decision:
        """The supervisor commits an answer and the process looks at it."""
        self.given(self.choice(option, call=call, by=by))
        return self.when(Advance())

    def judge(self, ruling: CallRuling = ALLOWED, *, call: CallId | None = None) -> Decision:
        """One call that is being judged (again) is ruled on: the first, or the one named."""
        judged = call or self.runtime.rechecking[0]
        return self.when(FinishRecheck(call_id=judged, ruling=ruling))

    def drain(
        self, then: AfterDrain = AfterDrain.DAEMON_RESTART, *, budget_s: float = 20.0
    ) -> Decision:
        """The supervisor drains this session."""
        return self.when(Drain(then=then, budget_s=budget_s))

    def fire(self, timer: TimerKind) -> Decision:
        """The current timer of this kind is due."""
        token = {
            TimerKind.IDLE: self.runtime.idle_token,
            TimerKind.PASSIVATION_GRACE: self.runtime.grace_token,
            TimerKind.DRAIN_SAFE_POINT: self.runtime.drain_token,
            TimerKind.CHILD_DRAIN: self.runtime.child_drain_token,
        }[timer]
        return self.when(FireTimer(timer=timer, token=token))

    # Then

    def events(self, since: int = 0) -> tuple[SessionEvent, ...]:
        """The journal after this seq."""
        return tuple(row.event for row in self.journal[since:])

    @property
    def messages(self) -> tuple[Message, ...]:
        """What a model call would be sent now."""
        return build_messages(self.state, self.runtime)

    @property
    def launched(self) -> tuple[RunTool, ...]:
        """The launches of the last decision."""
        return tuple(item for item in self.last.effects if isinstance(item, RunTool))
