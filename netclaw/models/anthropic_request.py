"""Renders a model request as the body of a call in Anthropic's Messages dialect.

The dialect is stricter than chat completions. Roles take turns and a person begins, so what
stands together under one role becomes one message. Results come first in the message right
behind the calls they answer. No text is blank. Ids and names have a form, which those of another
provider in an older part of the conversation need not have.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from netclaw.core.messages import AssistantMessage, Message, ToolMessage, UserMessage
from netclaw.core.settings import ModelSettings
from netclaw.core.tool_call import ToolCall, ToolDefinition
from netclaw.models.json_text import dump_body, is_json_object
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

DEFAULT_MAX_TOKENS: Final = 8192
"""The dialect demands a limit; every model that is offered can write this much."""
WINDOW_SHARE: Final = 4
"""Without a setting, an answer takes at most this fraction of the context window."""
BEGINNING: Final = "[The conversation began earlier.]"
BLANK: Final = "[This message has no text.]"
CACHED: Final = {"type": "ephemeral"}
"""Marks the end of what the provider may keep for the next call."""

_CALL_ID = re.compile(r"[A-Za-z0-9_-]+")
_NAME_MAX_CHARS = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def render_body(settings: ModelSettings, request: ModelRequest) -> bytes:
    """The JSON body of a streamed call, as UTF-8.

    Up to four places are marked for the provider's cache, as many as it allows: the end of what
    never changes (tools and system prompt come first in its order), the ends of what the last turn
    and this one began with (a long turn has more blocks than the provider looks back from a mark),
    and the end of the conversation, because each round of a turn sends all of it again.
    """
    body: JsonObject = {
        "model": settings.model_id,
        "max_tokens": _max_tokens(settings, request),
        "stream": True,
    }
    tools = [_tool(definition) for definition in request.tools]
    if tools:
        body["tools"] = tools
    if request.system_prompt.strip():
        body["system"] = [{"type": "text", "text": request.system_prompt, "cache_control": CACHED}]
    elif tools:
        tools[-1]["cache_control"] = CACHED
    body["messages"] = render_messages(settings, request)
    return dump_body(body)


def render_messages(settings: ModelSettings, request: ModelRequest) -> list[JsonObject]:
    """The conversation as messages of content blocks, roles taking turns, a person's first."""
    wire_ids = WireIds(_CALL_ID)
    pictures = usable_pictures(settings, request)
    merged: list[JsonObject] = []
    for count, message in enumerate(request.messages, start=1):
        role, blocks = _blocks(message, wire_ids, pictures)
        if blocks:
            _add(merged, role, blocks)
        if merged and count in request.stable_ends:
            merged[-1]["content"][-1]["cache_control"] = CACHED
    for message_object in merged:
        # Stable: only results move, and only in front of what a person said meanwhile.
        message_object["content"].sort(key=_is_behind_results)
    if merged:
        merged[-1]["content"][-1]["cache_control"] = CACHED
    return merged


def _add(merged: list[JsonObject], role: str, blocks: list[JsonObject]) -> None:
    if not merged and role == "assistant":
        merged.append({"role": "user", "content": [_text(BEGINNING)]})
    if merged and merged[-1]["role"] == role:
        merged[-1]["content"].extend(blocks)
    else:
        merged.append({"role": role, "content": blocks})


def _blocks(
    message: Message, wire_ids: WireIds, pictures: Pictures
) -> tuple[str, list[JsonObject]]:
    """The role under which the dialect tells a message, and its content."""
    match message:
        case AssistantMessage():
            said = [_text(message.text)] if message.text.strip() else []
            return "assistant", said + [_tool_use(call, wire_ids) for call in message.calls]
        case ToolMessage():
            return "user", [_tool_result(message, wire_ids)]
        case UserMessage():
            text = user_text(message, pictures)
            shown = [_picture(item) for item in pictures_of(message, pictures)]
        case _:
            text, shown = message.text, []
    return "user", [*shown, _text(text if text.strip() else BLANK)]


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _picture(picture: Picture) -> JsonObject:
    source = {"type": "base64", "media_type": picture.media_type, "data": picture.base64}
    return {"type": "image", "source": source}


def _tool_use(call: ToolCall, wire_ids: WireIds) -> JsonObject:
    arguments = arguments_of(call)
    return {
        "type": "tool_use",
        "id": wire_ids.assign(call),
        "name": _NOT_IN_NAMES.sub("_", call.name)[:_NAME_MAX_CHARS] or "_",
        "input": orjson.Fragment(arguments) if is_json_object(arguments) else {},
    }


def _tool_result(message: ToolMessage, wire_ids: WireIds) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": wire_ids.of(message.call_id)}
    if message.text.strip():
        block["content"] = message.text
    return block


def _is_behind_results(block: JsonObject) -> bool:
    return bool(block["type"] != "tool_result")


def _tool(definition: ToolDefinition) -> JsonObject:
    return {
        "name": definition.name,
        "description": definition.description,
        "input_schema": orjson.Fragment(definition.parameters),
    }


def _max_tokens(settings: ModelSettings, request: ModelRequest) -> int:
    wanted = request.max_output_tokens or settings.max_output_tokens
    return wanted or max(1, min(DEFAULT_MAX_TOKENS, settings.context_window // WINDOW_SHARE))
