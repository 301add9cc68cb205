"""What the fake model answers to a request: which round it is, and a real provider's checks."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from tests.fakes.model_script import parse_rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fakes.model_reply import Reply

    RoundsOf = Callable[[str], tuple[Reply, ...]]

JsonObject = dict[str, Any]
Messages = list[JsonObject]

CLOCK = re.compile(r"\[current-time\]\n\S+ \S+ \(\w+, [^)]*\)")
"""What a turn's block says of the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """The place in the script that a request has reached."""

    reply: Reply
    message: str
    round_index: int


def text_of(message: JsonObject) -> str:
    """The text of a message, whether its content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(p.get("text", "") for p in content if isinstance(p, dict))
    return ""


def find_play(messages: Messages, default: Reply, rounds_of: RoundsOf = parse_rounds) -> Play:
    """The round that the messages alone decide; the default once the script is used up."""
    assistants = 0
    newest_user: str | None = None
    for message in reversed(messages):
        role = message.get("role")
        if role == "assistant":
            assistants += 1
        elif role == "user":
            text = text_of(message)
            if newest_user is None:
                newest_user = text
            elif not assistants:
                continue  # an older message whose turn failed without an answer
            rounds = rounds_of(text)
            if not rounds:
                continue
            if assistants < len(rounds):
                reply = rounds[assistants]
                return Play(reply=filled(reply, messages), message=text, round_index=assistants)
            break
    return Play(reply=filled(default, messages), message=newest_user or "", round_index=0)


def filled(reply: Reply, messages: Messages) -> Reply:
    """`reply` with the user messages and tool results of the open turn, where it asks for them.

    The open turn reaches back to the newest assistant message that called no tool.
    """
    if not (reply.is_echo or reply.is_results):
        return reply
    users: list[str] = []
    results: list[str] = []
    for message in reversed(messages):
        role = message.get("role")
        if role == "user":
            users.append(text_of(message))
        elif role == "tool":
            results.append(text_of(message))
        elif role == "assistant" and not message.get("tool_calls"):
            break
    text = reply.text
    if reply.is_echo:
        text += "echo: " + " | ".join(reversed(users))
    if reply.is_results:
        text += "results: " + " | ".join(reversed(results))
    return replace(reply, text=text)


def attempt_key(messages: Messages) -> str:
    """Names one model call of one conversation: the same request sent again has the same key.

    The clock is no part of it: a process that died before its turn was recorded is followed by one
    that begins the turn at another second.
    """
    spoken = [
        [
            m.get("role"),
            CLOCK.sub("", text_of(m)),
            [c.get("function") for c in m.get("tool_calls") or ()],
        ]
        for m in messages
        if m.get("role") not in ("system", "developer")
    ]
    return hashlib.sha256(orjson.dumps(spoken)).hexdigest()[:16]


def complaint(body: JsonObject) -> str | None:
    """What a strict provider would refuse in this request, as one sentence, or None."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "'messages' must be a non-empty array"
    if not isinstance(body.get("model"), str):
        return "you must provide a model parameter"
    return _pairing_complaint(messages) or _tools_complaint(body)


def _tools_complaint(body: JsonObject) -> str | None:
    tools = body.get("tools")
    if tools is None:
        return None
    if not isinstance(tools, list) or not tools:
        return "'tools' must be a non-empty array"
    for tool in tools:
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            return "every tool needs a function with a name"
    return None


def _pairing_complaint(messages: Messages) -> str | None:
    waiting: list[str] = []
    for message in messages:
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                return (
                    "messages with role 'tool' must follow an assistant message with its tool call"
                )
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"tool_call_ids without a tool message: {', '.join(waiting)}"
        if role == "assistant":
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
            if not waiting and not message.get("content"):
                return "an assistant message needs content or tool_calls"
        elif role not in ("user", "system", "developer"):
            return f"unknown role {role!r}"
    return f"tool_call_ids without a tool message: {', '.join(waiting)}" if waiting else None
