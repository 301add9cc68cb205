"""Renders a model request as the body of an OpenAI chat completion call."""

from __future__ import annotations

from typing import Any

import orjson

from netclaw.core.messages import (
    AssistantMessage,
    Message,
    NoteMessage,
    ToolMessage,
    UserMessage,
)
from netclaw.core.settings import ModelSettings, ProviderType
from netclaw.core.tool_call import ToolDefinition
from netclaw.models.embedded import default_limit
from netclaw.models.json_text import dump_body
from netclaw.models.request_parts import (
    Pictures,
    WireIds,
    arguments_of,
    pictures_of,
    usable_pictures,
    user_text,
)
from netclaw.ports.model import ModelRequest, Picture

JsonObject = dict[str, Any]


def render_body(
    settings: ModelSettings, request: ModelRequest, *, must_alternate: bool = False
) -> bytes:
    """The JSON body of a streamed call, as UTF-8.

    `must_alternate` joins neighbouring user messages: the templates of some open models (Gemma's
    and Mistral's among them) refuse two in a row.
    """
    messages = render_messages(settings, request)
    body: JsonObject = {
        "model": settings.model_id,
        "messages": joined(messages) if must_alternate else messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(definition) for definition in request.tools]
    limit = request.max_output_tokens or settings.max_output_tokens or default_limit(settings)
    if limit:
        # OpenAI's reasoning models refuse the old name; the compatible servers know only that.
        is_openai = settings.provider_type is ProviderType.OPENAI
        body["max_completion_tokens" if is_openai else "max_tokens"] = limit
    return dump_body(body)


def render_messages(settings: ModelSettings, request: ModelRequest) -> list[JsonObject]:
    """The conversation as chat messages, the system prompt first."""
    wire_ids = WireIds()
    pictures = usable_pictures(settings, request)
    rendered: list[JsonObject] = []
    if request.system_prompt:
        rendered.append({"role": "system", "content": request.system_prompt})
    rendered.extend(_message(message, wire_ids, pictures) for message in request.messages)
    return rendered


def joined(messages: list[JsonObject]) -> list[JsonObject]:
    """The same conversation without two user messages in a row."""
    result: list[JsonObject] = []
    for message in messages:
        last = result[-1] if result else {}
        if message["role"] == "user" == last.get("role"):
            content = _with(last["content"], message["content"])
            result[-1] = {"role": "user", "content": content}
        else:
            result.append(message)
    return result


def _with(first: str | list[JsonObject], second: str | list[JsonObject]) -> str | list[JsonObject]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: str | list[JsonObject]) -> list[JsonObject]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _message(message: Message, wire_ids: WireIds, pictures: Pictures) -> JsonObject:
    match message:
        case UserMessage():
            return {"role": "user", "content": _content(message, pictures)}
        case AssistantMessage():
            return _assistant(message, wire_ids)
        case ToolMessage():
            wire_id = wire_ids.of(message.call_id)
            return {"role": "tool", "tool_call_id": wire_id, "content": message.text}
        case NoteMessage():
            return {"role": "user", "content": message.text}


def _content(message: UserMessage, pictures: Pictures) -> str | list[JsonObject]:
    """The text alone where that is all: some servers know no other form."""
    text = user_text(message, pictures)
    shown = [_picture(item) for item in pictures_of(message, pictures)]
    return [{"type": "text", "text": text}, *shown] if shown else text


def _picture(picture: Picture) -> JsonObject:
    url = f"data:{picture.media_type};base64,{picture.base64}"
    return {"type": "image_url", "image_url": {"url": url}}


def _assistant(message: AssistantMessage, wire_ids: WireIds) -> JsonObject:
    rendered: JsonObject = {"role": "assistant", "content": message.text}
    if message.calls:
        rendered["tool_calls"] = [
            {
                "id": wire_ids.assign(call),
                "type": "function",
                "function": {"name": call.name, "arguments": arguments_of(call)},
            }
            for call in message.calls
        ]
    return rendered


def _tool(definition: ToolDefinition) -> JsonObject:
    return {
        "type": "function",
        "function": {
            "name": definition.name,
            "description": definition.description,
            "parameters": orjson.Fragment(definition.parameters),
        },
    }
