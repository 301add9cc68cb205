"""Conversations of any shape for the tests of compaction."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from netclaw.core.context.token_estimate import TokenMeter
from netclaw.core.ids import CallId, InputId, TurnId
from netclaw.core.messages import (
    AssistantMessage,
    Message,
    NoteKind,
    NoteMessage,
    ToolMessage,
    UserMessage,
)
from netclaw.core.session.compaction import shortened
from netclaw.core.session.compaction_state import CompactionPlan
from netclaw.core.session.state import CallState, OpenTurn, SessionState
from netclaw.core.settings import ModelSettings, ProviderType, SessionSettings, SessionTuning
from netclaw.core.tool_call import OutcomeCategory, ToolCall, ToolReceipt, ToolResult
from netclaw.testing.people import OPERATOR

WINDOW = 4000

_REPORTED = st.sampled_from([0, 100, 1000, 2900, 3100, 4100, 12_000])


def settings_of(*, window: int = WINDOW, tuning: SessionTuning | None = None) -> SessionSettings:
    """Settings with one main model of this window."""
    return SessionSettings(
        tuning=tuning or SessionTuning(),
        main_model=ModelSettings(
            provider="p",
            provider_type=ProviderType.OPENAI_COMPATIBLE,
            endpoint="http://127.0.0.1:1",
            model_id="m",
            context_window=window,
        ),
    )


@dataclass
class Talk:
    """Writes a conversation message by message; ids count up."""

    messages: list[Message] = field(default_factory=list)
    calls: int = 0
    inputs: int = 0
    last_calls: tuple[ToolCall, ...] = ()
    turn_inputs: tuple[InputId, ...] = ()

    def user(self, size: int = 20, *, joins: bool = False) -> Talk:
        """A person's message; `joins` the turn before it."""
        self.inputs += 1
        input_id = InputId(f"i{self.inputs}")
        self.turn_inputs = (*self.turn_inputs, input_id) if joins else (input_id,)
        if not joins:
            self.last_calls = ()
        text = f"{self.inputs}:" + "u" * size
        self.messages.append(UserMessage(input_id=input_id, text=text, at=1, seq=self.inputs))
        return self

    def batch(self, *sizes: int, arguments: int = 10) -> Talk:
        """A round that asks for one call per size, and the results."""
        made = []
        for _ in sizes:
            self.calls += 1
            made.append(
                ToolCall(
                    call_id=CallId(f"c{self.calls}"),
                    provider_call_id="p",
                    name="shell_execute",
                    arguments="a" * arguments,
                )
            )
        self.last_calls = tuple(made)
        self.messages.append(AssistantMessage(text="", at=1, calls=self.last_calls))
        for call, size in zip(made, sizes, strict=True):
            self.messages.append(ToolMessage(call_id=call.call_id, text="r" * size, at=1))
        return self

    def answer(self, size: int = 20) -> Talk:
        """The end of a turn."""
        self.last_calls = ()
        self.messages.append(AssistantMessage(text="a" * size, at=1))
        return self

    def note(self, size: int = 20, *, kind: NoteKind = NoteKind.LINE) -> Talk:
        """A line of the runtime, or notes of an earlier compaction."""
        self.messages.append(NoteMessage(text="n" * size, at=1, kind=kind))
        return self

    def state(self, *, is_open: bool = False, reported: int = 0) -> SessionState:
        """A session with this history, in the middle of its last turn or between turns."""
        turn = None
        if is_open:
            turn = OpenTurn(
                turn_id=TurnId("t"),
                authority=OPERATOR,
                input_ids=self.turn_inputs,
                started_at=1,
                rounds=1,
                batch=tuple(
                    CallState(call=call, is_launched=True, result=_result(call))
                    for call in self.last_calls
                ),
            )
        return SessionState(
            history=tuple(self.messages),
            turn=turn,
            last_input_tokens=reported,
            meter=TokenMeter(),
        )


def _result(call: ToolCall) -> ToolResult:
    receipt = ToolReceipt(category=OutcomeCategory.SUCCESS)
    return ToolResult(call_id=call.call_id, text="r", receipt=receipt)


def applied(state: SessionState, plan: CompactionPlan, notes: str = "") -> SessionState:
    """The state after the plan was carried out."""
    history = shortened(
        state.history,
        cleared_call_ids=plan.cleared_call_ids,
        kept_messages=plan.kept_messages,
        kept_input_ids=plan.kept_input_ids,
        notes=notes,
        at=2,
    )
    return replace(state, history=history, last_input_tokens=0)


_SIZES = st.sampled_from([0, 3, 40, 80, 200, 700, 1500, 3000, 6000, 9000, 15_000, 30_000])
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["user", "batch", "batch", "batch", "join", "answer", "note"]),
        st.lists(_SIZES, min_size=1, max_size=5),
        _SIZES,
    ),
    max_size=24,
)


@st.composite
def states(draw: st.DrawFn) -> SessionState:
    """Any session: turns of any size, with tool loops, joiners, notes, open or at rest."""
    talk = Talk()
    if draw(st.booleans()):
        talk.note(1000, kind=NoteKind.SUMMARY)
    talk.user(draw(_SIZES))
    for kind, sizes, size in draw(_STEPS):
        if kind == "batch":
            talk.batch(*sizes, arguments=size // 10)
        elif kind == "join" and isinstance(talk.messages[-1], ToolMessage):
            talk.user(size, joins=True)
        elif kind == "answer" and not isinstance(talk.messages[-1], AssistantMessage):
            talk.answer(size)
        elif kind == "note":
            talk.note()
        else:
            talk.user(size)
    is_open = draw(st.booleans())
    if is_open and not isinstance(talk.messages[-1], UserMessage | ToolMessage):
        talk.user(draw(_SIZES))
    return talk.state(is_open=is_open, reported=draw(_REPORTED))
