"""Requests in Anthropic's Messages dialect: what they say, and a strict provider's checks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

JsonObject = dict[str, Any]
Blocks = list[JsonObject]

ID = re.compile(r"[a-zA-Z0-9_-]+")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
MAX_BREAKPOINTS = 4
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
VERSIONS = frozenset({"2023-06-01", "2026-10-21"})
"""They differ in nothing that netclaw sends or reads."""


def blocks_of(message: JsonObject) -> Blocks:
    """The content as blocks; a string stands for one of text."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or () if isinstance(block, dict)]


def conversation(body: JsonObject) -> list[JsonObject]:
    """The same as chat messages: each text a message, results under the role `tool`."""
    chat: list[JsonObject] = []
    for message in body["messages"]:
        if message["role"] == "assistant":
            chat.append(_assistant(message))
        else:
            chat.extend(_said(blocks_of(message)))
    return chat


def _assistant(message: JsonObject) -> JsonObject:
    blocks = blocks_of(message)
    calls = [
        {"id": b["id"], "function": {"name": b["name"], "arguments": b["input"]}}
        for b in blocks
        if b["type"] == "tool_use"
    ]
    text = "".join(b["text"] for b in blocks if b["type"] == "text")
    return {"role": "assistant", "content": text, "tool_calls": calls}


def _said(blocks: Blocks) -> Iterator[JsonObject]:
    for block in blocks:
        if block["type"] == "tool_result":
            text = "".join(part.get("text", "") for part in blocks_of(block))
            yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": text}
        elif block["type"] == "text":
            yield {"role": "user", "content": block["text"]}


def system_prompt(body: JsonObject) -> str:
    """What stands above the conversation: a string, or blocks of text."""
    system = body.get("system") or ""
    return system if isinstance(system, str) else "".join(block["text"] for block in system)


def complaint(body: JsonObject, headers: Mapping[str, str]) -> str | None:
    """What the vendor would refuse in this request, as one sentence, or None."""
    if headers.get("anthropic-version") not in VERSIONS:
        return "anthropic-version: header with a valid version is required"
    if not isinstance(body.get("model"), str):
        return "model: Field required"
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or limit < 1:
        return "max_tokens: Field required"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "messages: at least one message is required"
    if str(body).count("'cache_control'") > MAX_BREAKPOINTS:
        return f"A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided"
    return _tools_complaint(body) or _messages_complaint(messages)


def _tools_complaint(body: JsonObject) -> str | None:
    for number, tool in enumerate(body.get("tools") or ()):
        if not NAME.fullmatch(tool.get("name", "")):
            return f"tools.{number}.name: String should match pattern"
        if tool.get("input_schema", {}).get("type") != "object":
            return f"tools.{number}.input_schema: Field required"
    return None


def _messages_complaint(messages: list[JsonObject]) -> str | None:
    if messages[0].get("role") != "user":
        return "messages: first message must use the user role"
    waiting: list[str] = []
    for number, message in enumerate(messages):
        blocks = blocks_of(message)
        if problem := _content_complaint(message, blocks):
            return f"messages.{number}: {problem}"
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        if waiting and sorted(results) != sorted(waiting):
            return (
                f"messages.{number}: tool_use ids were found without tool_result blocks "
                f"immediately after: {', '.join(waiting)}"
            )
        if results and not waiting:
            return f"messages.{number}: unexpected tool_use_id found in tool_result blocks"
        waiting = [b["id"] for b in blocks if b["type"] == "tool_use"]
        if len(set(waiting)) < len(waiting):
            return f"messages.{number}: tool_use ids must be unique"
    return "tool_use ids were found without tool_result blocks" if waiting else None


def _content_complaint(message: JsonObject, blocks: Blocks) -> str | None:
    role = message.get("role")
    if role not in ("user", "assistant"):
        return f"unexpected role {role!r}"
    if not blocks:
        return "content must not be empty"
    said = ("text", "image", "tool_result")
    allowed = ("text", "tool_use") if role == "assistant" else said
    kinds = [block.get("type") for block in blocks]
    if any(kind not in allowed for kind in kinds):
        return f"only {allowed} may stand in a message of {role}"
    if kinds != sorted(kinds, key=lambda kind: kind != "tool_result"):
        return "tool_result blocks must come first"
    return next(filter(None, map(_block_complaint, blocks)), None)


def _block_complaint(block: JsonObject) -> str | None:
    if block["type"] == "text" and not block["text"].strip():
        return "text content blocks must contain non-whitespace text"
    if block["type"] == "image":
        source = block.get("source", {})
        is_whole = source.get("type") == "base64" and source.get("media_type") in PICTURES
        return None if is_whole and source.get("data") else "image.source: not a picture"
    if block["type"] == "tool_use":
        if not ID.fullmatch(block["id"]) or not NAME.fullmatch(block["name"]):
            return "tool_use.id and tool_use.name should match their pattern"
        if not isinstance(block["input"], dict):
            return "tool_use.input: Input should be a valid dictionary"
    return None
