"""Builds the messages of a model call from the history.

Whatever happened to a turn, the result is a valid conversation: every call is answered once,
right behind the message that asked for it and in its order, and nothing answers a call that is
not there. Thinking is never sent back.

The block of the turn stands in front of the turn's first message and is no history. So whatever
comes before the open turn is the same in all its requests and in those of the next turn, which a
provider's cache of the prefix lives on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from netclaw.core.ids import CallId
from netclaw.core.messages import (
    AssistantMessage,
    Message,
    NoteMessage,
    ToolMessage,
    UserMessage,
)
from netclaw.core.session import sentences
from netclaw.core.session.state import OpenTurn, Runtime, SessionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The messages of one model call."""

    messages: tuple[Message, ...]
    stable_ends: tuple[int, ...] = ()
    """How many of the first messages were the same before the last turn, and before this one;
    they stay so until the history is shortened."""


def build_messages(state: SessionState, runtime: Runtime) -> tuple[Message, ...]:
    """The messages of a call without the block of the turn."""
    return build_conversation(state, runtime).messages


def build_conversation(
    state: SessionState, runtime: Runtime, *, turn_block: str = ""
) -> Conversation:
    """The history as a model may see it, the turn's block in its place, and what only this
    process says at the end.
    """
    history = paired(state.history)
    start = start_of_turn(history, state.turn) if state.turn is not None else len(history)
    lines = (runtime.continuity, runtime.nudge)
    at = state.last_activity_at
    ends = (_start_of_last_turn(history, start), start)
    return Conversation(
        messages=(
            *history[:start],
            *(NoteMessage(text=line, at=at) for line in (turn_block,) if line),
            *history[start:],
            *(NoteMessage(text=line, at=at) for line in lines if line),
        ),
        stable_ends=tuple(dict.fromkeys(end for end in ends if end)),
    )


def start_of_turn(history: tuple[Message, ...], turn: OpenTurn) -> int:
    """Where the messages of the open turn begin: they are the last ones, without a gap."""
    start = len(history)
    while start and _is_of_turn(history[start - 1], turn):
        start -= 1
    return start


def _is_of_turn(message: Message, turn: OpenTurn) -> bool:
    if isinstance(message, UserMessage):
        return message.input_id in turn.input_ids
    return message.turn_id == turn.turn_id


def _start_of_last_turn(history: tuple[Message, ...], end: int) -> int:
    """Where the messages of the turn that ends here begin."""
    turn_id: str | None = None
    start = end
    while start:
        message = history[start - 1]
        if not isinstance(message, UserMessage):
            if turn_id not in (None, message.turn_id):
                break
            turn_id = message.turn_id
        start -= 1
    return start


def paired(history: Iterable[Message]) -> tuple[Message, ...]:
    """Pair every call with exactly one result and leave thinking out."""
    messages: list[Message] = []
    open_calls: dict[CallId, ToolMessage | None] = {}
    asked: AssistantMessage | None = None
    for item in history:
        if isinstance(item, ToolMessage):
            if item.call_id in open_calls and open_calls[item.call_id] is None:
                open_calls[item.call_id] = item
            continue
        messages.extend(_answers(asked, open_calls))
        asked, open_calls = None, {}
        if isinstance(item, AssistantMessage):
            asked = item
            open_calls = {call.call_id: None for call in item.calls}
            messages.append(replace(item, thinking="") if item.thinking else item)
        else:
            messages.append(item)
    messages.extend(_answers(asked, open_calls))
    return tuple(messages)


def _answers(
    asked: AssistantMessage | None, found: dict[CallId, ToolMessage | None]
) -> Iterable[ToolMessage]:
    if asked is None:
        return
    for call_id, result in found.items():
        yield result or ToolMessage(
            call_id=call_id, text=sentences.CALL_MISSING, at=asked.at, turn_id=asked.turn_id
        )
