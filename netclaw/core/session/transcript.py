"""Shows a conversation, or the part of it that fits, as text inside one message.

What a sidecar call reads is material to write about, never a conversation to go on with.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netclaw.core.messages import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage

LEFT_OUT = "[the messages before this point are left out]"
GAP = " [...] "


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Characters shown of one item; the middle of a longer one is left out."""

    user: int = 6_000
    reply: int = 3_000
    result: int = 800
    argument: int = 400


def newest(messages: Iterable[Message], room: int, limits: Limits) -> list[str]:
    """The rendered messages from the newest back to where the room ends, in their order."""
    lines: list[str] = []
    for item in reversed(tuple(messages)):
        line = render(item, limits)
        room -= len(line) + 2
        if room < 0:
            lines.append(LEFT_OUT)
            break
        lines.append(line)
    return lines[::-1]


def render(message: Message, limits: Limits) -> str:
    """One message as a line that says who spoke."""
    if isinstance(message, UserMessage):
        sender = f" ({message.sender})" if message.sender else ""
        return f"Person{sender}: {bounded(message.text, limits.user)}"
    if isinstance(message, ToolMessage):
        return f"Result: {bounded(message.text, limits.result)}"
    if isinstance(message, NoteMessage):
        return f"Note: {bounded(message.text, limits.result)}"
    return "\n".join(_reply_lines(message, limits))


def bounded(text: str, limit: int) -> str:
    """The text, or its beginning and end."""
    if len(text) <= limit:
        return text
    half = max(0, limit - len(GAP)) // 2
    return text[:half] + GAP + text[len(text) - half :]


def _reply_lines(message: AssistantMessage, limits: Limits) -> Iterable[str]:
    if message.text:
        yield f"Assistant: {bounded(message.text, limits.reply)}"
    for call in message.calls:
        yield f"Assistant called {call.name}: {bounded(call.arguments, limits.argument)}"
