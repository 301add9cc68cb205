"""How a reply of the fake model looks on the wire: OpenAI chat completions, streamed or whole."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from tests.fakes.model_reply import Call, CallStyle, IdStyle, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

JsonObject = dict[str, Any]

CREATED = 1_760_000_000
DONE = b"[DONE]"
GARBAGE = b"{this is no json"
ERROR_EVENT = b'{"error":{"message":"the backend gave up","type":"server_error","code":500}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What an answer carries besides content; `serial` makes call ids unique and repeatable."""

    completion_id: str
    model: str
    serial: str
    is_usage_wanted: bool = True


def usage_object(usage: Usage) -> JsonObject:
    """The `usage` member."""
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


def finish_reason(reply: Reply) -> str:
    """The finish reason that belongs to the content, unless the script names another."""
    return reply.finish or ("tool_calls" if reply.calls else "stop")


def whole(reply: Reply, frame: Frame) -> JsonObject:
    """The answer to a request without `stream`."""
    message: JsonObject = {
        "role": "assistant",
        "content": (reply.text + "".join(reply.pieces)) or None,
        "refusal": None,
    }
    if reply.thinking:
        message[reply.reasoning_key] = reply.thinking
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": call_id(reply, frame, position) or "",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for position, call in enumerate(reply.calls)
        ]
    answer: JsonObject = {
        "id": frame.completion_id,
        "object": "chat.completion",
        "created": CREATED,
        "model": frame.model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": finish_reason(reply),
            }
        ],
    }
    if reply.usage is not None:
        answer["usage"] = usage_object(reply.usage)
    return answer


def call_id(reply: Reply, frame: Frame, position: int) -> str | None:
    """The provider's id of one call in the script's id style; None leaves the member out."""
    if reply.ids is IdStyle.UNIQUE:
        return f"call_{frame.serial}_{position}"
    return {IdStyle.SAME: "call_0", IdStyle.EMPTY: ""}.get(reply.ids)


def content_events(reply: Reply, frame: Frame) -> Iterator[bytes]:
    """JSON of the content chunks, the role in the first."""
    render = _renderer(frame)
    role: JsonObject = {"role": "assistant", "content": ""}
    for delta in _deltas(reply, frame):
        yield render({**role, **delta} if role else delta, None)
        role = {}
    if role:
        yield render(role, None)


def closing_events(reply: Reply, frame: Frame) -> Iterator[bytes]:
    """JSON of the finish chunk and the usage chunk."""
    yield _renderer(frame)({}, finish_reason(reply))
    if reply.usage is not None and frame.is_usage_wanted:
        yield orjson.dumps(
            {
                "id": frame.completion_id,
                "object": "chat.completion.chunk",
                "created": CREATED,
                "model": frame.model,
                "choices": [],
                "usage": usage_object(reply.usage),
            }
        )


def sse(reply: Reply, payload: bytes) -> bytes:
    """One event of the stream in the form that the script asks for."""
    newline = reply.newline.encode()
    field = b"data:" if reply.is_spaceless else b"data: "
    if reply.is_bad_utf8 and b'"content":"' in payload:
        payload = payload.replace(b'"content":"', b'"content":"\xff\xfe', 1)
    if reply.is_multiline and payload.startswith(b"{"):
        lines = json.dumps(json.loads(payload), indent=1).split("\n")
        return b"".join(field + line.encode() + newline for line in lines) + newline
    return field + payload + newline + newline


def _renderer(frame: Frame) -> Any:
    head = (
        b'{"id":%s,"object":"chat.completion.chunk","created":%d,"model":%s,"choices":[{"index":0,"delta":'
        % (orjson.dumps(frame.completion_id), CREATED, orjson.dumps(frame.model))
    )

    def render(delta: JsonObject, finish: str | None) -> bytes:
        return b"".join(
            (head, orjson.dumps(delta), b',"finish_reason":', orjson.dumps(finish), b"}]}")
        )

    return render


def _deltas(reply: Reply, frame: Frame) -> Iterator[JsonObject]:
    for part in cut(reply.thinking, reply.chunk_chars):
        yield {reply.reasoning_key: part}
    for part in cut(reply.text, reply.chunk_chars):
        yield {"content": part}
    for part in reply.pieces:
        yield {"content": part}
    for position, call in enumerate(reply.calls):
        for delta in _call_deltas(reply, frame, position, call):
            yield {"tool_calls": [delta]}


def _call_deltas(reply: Reply, frame: Frame, position: int, call: Call) -> Iterator[JsonObject]:
    head: JsonObject = {"index": position, "type": "function"}
    provider_id = call_id(reply, frame, position)
    if provider_id is not None:
        head["id"] = provider_id
    if reply.call_style in (CallStyle.WHOLE, CallStyle.NO_INDEX):
        if reply.call_style is CallStyle.NO_INDEX:
            del head["index"]
        yield {**head, "function": {"name": call.name, "arguments": call.arguments}}
        return
    yield {**head, "function": {"name": call.name, "arguments": ""}}
    is_padded = reply.call_style is CallStyle.EMPTY_CHUNKS
    for part in cut(call.arguments, reply.chunk_chars or 8):
        if is_padded:
            yield {"index": position, "id": None, "function": {"name": None, "arguments": None}}
            yield {"index": position, "id": "", "function": {"name": "", "arguments": part}}
        else:
            yield {"index": position, "function": {"arguments": part}}


def cut(text: str, chars: int | None) -> Iterator[str]:
    """`text` in pieces of so many characters, or word by word."""
    if chars is not None:
        for start in range(0, len(text), chars):
            yield text[start : start + chars]
    elif text:
        words = text.split(" ")
        yield words[0]
        for word in words[1:]:
            yield " " + word
