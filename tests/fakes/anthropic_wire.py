"""How a reply of the fake model looks in Anthropic's Messages dialect, streamed or whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson

from tests.fakes.model_reply import CallStyle
from tests.fakes.model_wire import call_id, cut, sse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakes.model_reply import Call, Reply
    from tests.fakes.model_wire import Frame

JsonObject = dict[str, Any]

PING = b'event: ping\ndata: {"type": "ping"}\n\n'
SIGNATURE = "c2lnbmF0dXJl"
STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "tool_calls": "tool_use",
}
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def stop_reason(reply: Reply) -> str:
    """The stop reason that belongs to the content, unless the script names another."""
    if reply.finish:
        return STOP_REASONS.get(reply.finish, reply.finish)
    return "tool_use" if reply.calls else "end_turn"


def usage_object(reply: Reply, *, output: int) -> JsonObject:
    """The `usage` member: cached tokens are not part of `input_tokens` here."""
    usage = reply.usage
    if usage is None:
        return {}
    return {
        "usage": {
            "input_tokens": usage.prompt - usage.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached,
            "output_tokens": output,
        }
    }


def error_object(kind: str, message: str) -> JsonObject:
    """An error as the body of an answer or the data of an event."""
    return {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_fake",
    }


def error_body(status: int, message: str, _code: str | None) -> JsonObject:
    """An HTTP error."""
    return error_object(ERROR_TYPES.get(status, "api_error"), message)


def error_event(reply: Reply) -> bytes:
    """An error inside a stream, of the type that the script names."""
    kind = reply.faults.error_type or "overloaded_error"
    return _event(reply, error_object(kind, "the backend gave up"))


def whole(reply: Reply, frame: Frame) -> JsonObject:
    """The answer to a request without `stream`."""
    content: list[JsonObject] = []
    if reply.thinking:
        block = {"type": "thinking", "thinking": reply.thinking, "signature": SIGNATURE}
        content.append(block)
    if text := reply.text + "".join(reply.pieces):
        content.append({"type": "text", "text": text})
    for position, call in enumerate(reply.calls):
        block = _tool_use(reply, frame, position, call)
        content.append({**block, "input": json.loads(call.arguments)})
    output = reply.usage.completion if reply.usage else 0
    return {
        **_message(frame, content),
        "stop_reason": stop_reason(reply),
        **usage_object(reply, output=output),
    }


def chunks(reply: Reply, frame: Frame) -> Iterator[bytes]:
    """The content as written: each delta, with what opens before and closes behind it."""
    message = {**_message(frame, []), "stop_reason": None, **usage_object(reply, output=1)}
    before = _event(reply, {"type": "message_start", "message": message}) + PING
    for index, (opening, deltas) in enumerate(_blocks(reply, frame)):
        place = {"index": index}
        before += _event(reply, {"type": "content_block_start", **place, "content_block": opening})
        for number, delta in enumerate(deltas):
            chunk = before + _event(reply, {"type": "content_block_delta", **place, "delta": delta})
            if number == len(deltas) - 1:
                if opening["type"] == "thinking":
                    signed = {"type": "signature_delta", "signature": SIGNATURE}
                    chunk += _event(
                        reply, {"type": "content_block_delta", **place, "delta": signed}
                    )
                chunk += _event(reply, {"type": "content_block_stop", **place})
            yield chunk
            before = b""
    if before:
        yield before


def finish(reply: Reply, _frame: Frame) -> Iterator[bytes]:
    """The event with stop reason and usage."""
    delta = {"stop_reason": stop_reason(reply), "stop_sequence": None}
    output = reply.usage.completion if reply.usage else 0
    yield _event(
        reply, {"type": "message_delta", "delta": delta, **usage_object(reply, output=output)}
    )


def end(reply: Reply) -> bytes:
    """The last event."""
    return _event(reply, {"type": "message_stop"})


def _message(frame: Frame, content: list[JsonObject]) -> JsonObject:
    return {
        "id": f"msg_{frame.completion_id}",
        "type": "message",
        "role": "assistant",
        "model": frame.model,
        "content": content,
        "stop_sequence": None,
    }


def _event(reply: Reply, value: JsonObject) -> bytes:
    payload = orjson.dumps(value)
    if reply.is_bad_utf8:
        payload = payload.replace(b'"text_delta","text":"', b'"text_delta","text":"\xff\xfe', 1)
    name = str(value["type"]).encode()
    return b"event: " + name + reply.newline.encode() + sse(reply, payload)


def _blocks(reply: Reply, frame: Frame) -> Iterator[tuple[JsonObject, list[JsonObject]]]:
    if reply.thinking:
        opening = {"type": "thinking", "thinking": "", "signature": ""}
        parts = cut(reply.thinking, reply.chunk_chars)
        yield opening, [{"type": "thinking_delta", "thinking": part} for part in parts]
    if reply.text or reply.pieces:
        texts = [*cut(reply.text, reply.chunk_chars), *reply.pieces]
        yield (
            {"type": "text", "text": ""},
            [{"type": "text_delta", "text": part} for part in texts],
        )
    for position, call in enumerate(reply.calls):
        yield (
            {**_tool_use(reply, frame, position, call), "input": {}},
            [
                {"type": "input_json_delta", "partial_json": part}
                for part in _argument_parts(reply, call)
            ],
        )


def _tool_use(reply: Reply, frame: Frame, position: int, call: Call) -> JsonObject:
    block: JsonObject = {"type": "tool_use", "name": call.name}
    provider_id = call_id(reply, frame, position)
    if provider_id is not None:
        block["id"] = provider_id.replace("call_", "toolu_", 1)
    return block


def _argument_parts(reply: Reply, call: Call) -> Iterator[str]:
    if reply.call_style in (CallStyle.WHOLE, CallStyle.NO_INDEX):
        yield call.arguments
        return
    yield ""
    for part in cut(call.arguments, reply.chunk_chars or 8):
        if reply.call_style is CallStyle.EMPTY_CHUNKS:
            yield ""
        yield part
