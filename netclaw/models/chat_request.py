"""Renders a model request as the body of an OpenAI chat completion call."""

from __future__ import annotations

from typing import Any

import orjson

from netclaw.core.ids import CallId
from netclaw.core.messages import (
    AssistantMessage,
    MediaRef,
    Message,
    NoteMessage,
    ToolMessage,
    UserMessage,
)
from netclaw.core.settings import ModelSettings, ProviderType
from netclaw.core.tool_call import ToolCall, ToolDefinition
from netclaw.ports.model import ModelRequest

JsonObject = dict[str, Any]

EMPTY_ARGUMENTS = "{}"


def render_body(settings: ModelSettings, request: ModelRequest) -> bytes:
    """The JSON body of a streamed call, as UTF-8.

    Lone surrogates cannot cross the wire; they are replaced, so one bad character in an old
    message never makes a session unusable.
    """
    body: JsonObject = {
        "model": settings.model_id,
        "messages": render_messages(request),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(definition) for definition in request.tools]
    limit = request.max_output_tokens or settings.max_output_tokens
    if limit:
        # OpenAI's reasoning models refuse the old name; the compatible servers know only that.
        is_openai = settings.provider_type is ProviderType.OPENAI
        body["max_completion_tokens" if is_openai else "max_tokens"] = limit
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        return orjson.dumps(_without_surrogates(body))


def render_messages(request: ModelRequest) -> list[JsonObject]:
    """The conversation as chat messages, the system prompt first."""
    wire_ids = _WireIds()
    rendered: list[JsonObject] = []
    if request.system_prompt:
        rendered.append({"role": "system", "content": request.system_prompt})
    rendered.extend(_message(message, wire_ids) for message in request.messages)
    return rendered


class _WireIds:
    """The id under which each call goes to the provider.

    A provider gets back its own id, because some check its form; where it gave none or used one
    twice, netclaw's own id stands in. An earlier message is always rendered the same way, so the
    provider's prompt cache stays valid as the conversation grows.
    """

    def __init__(self) -> None:
        self._by_call: dict[CallId, str] = {}
        self._used: set[str] = set()

    def assign(self, call: ToolCall) -> str:
        wire_id = call.provider_call_id
        if not wire_id or wire_id in self._used:
            wire_id = call.call_id
        self._used.add(wire_id)
        self._by_call[call.call_id] = wire_id
        return wire_id

    def of(self, call_id: CallId) -> str:
        return self._by_call.get(call_id, call_id)


def _message(message: Message, wire_ids: _WireIds) -> JsonObject:
    match message:
        case UserMessage():
            return {"role": "user", "content": _user_text(message)}
        case AssistantMessage():
            return _assistant(message, wire_ids)
        case ToolMessage():
            wire_id = wire_ids.of(message.call_id)
            return {"role": "tool", "tool_call_id": wire_id, "content": message.text}
        case NoteMessage():
            return {"role": "user", "content": message.text}


def _assistant(message: AssistantMessage, wire_ids: _WireIds) -> JsonObject:
    rendered: JsonObject = {"role": "assistant", "content": message.text}
    if message.calls:
        rendered["tool_calls"] = [
            {
                "id": wire_ids.assign(call),
                "type": "function",
                "function": {"name": call.name, "arguments": _arguments(call)},
            }
            for call in message.calls
        ]
    return rendered


def _arguments(call: ToolCall) -> str:
    """Arguments that a server can parse again: chat templates fail on malformed ones."""
    return call.arguments if call.argument_fault is None else EMPTY_ARGUMENTS


def _user_text(message: UserMessage) -> str:
    if not message.media:
        return message.text
    return "\n".join((message.text, *map(_media_line, message.media)))


def _media_line(media: MediaRef) -> str:
    return f"[attachment: {media.name}, {media.media_type}, {media.size_bytes} bytes]"


def _tool(definition: ToolDefinition) -> JsonObject:
    return {
        "type": "function",
        "function": {
            "name": definition.name,
            "description": definition.description,
            "parameters": orjson.Fragment(definition.parameters),
        },
    }


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {key: _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value
