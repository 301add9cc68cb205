"""Builds the messages of a model call from the history.

Whatever happened to a turn, the result is a valid conversation: every call is answered once,
right behind the message that asked for it and in its order, and nothing answers a call that is
not there. Thinking is never sent back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from netclaw.core.ids import CallId
from netclaw.core.messages import AssistantMessage, Message, NoteMessage, ToolMessage
from netclaw.core.session import sentences
from netclaw.core.session.state import Runtime, SessionState


def build_messages(state: SessionState, runtime: Runtime) -> tuple[Message, ...]:
    """The history as a model may see it, with what only this process says at the end."""
    lines = (runtime.continuity, runtime.nudge)
    at = state.last_activity_at
    return (
        *paired(state.history),
        *(NoteMessage(text=line, at=at) for line in lines if line),
    )


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
