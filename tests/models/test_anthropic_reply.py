"""A message read event by event: blocks, counts, endings, and what is passed over."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.errors import ErrorCategory
from netclaw.core.messages import Usage
from netclaw.core.session.commands import FinishReason
from netclaw.models import reply as reply_module
from netclaw.models.anthropic_reply import MessagesReplyAssembler
from netclaw.models.failures import Secrets
from netclaw.models.sse import SseDecoder
from netclaw.ports.model import (
    CallDelta,
    Keepalive,
    ModelCallError,
    StreamItem,
    TextDelta,
    ThinkingDelta,
)

Event = dict[str, Any]

START: Event = {"type": "message_start", "message": {"model": "served", "usage": {}}}
STOP: Event = {"type": "message_stop"}
PING: Event = {"type": "ping"}


def opening(index: int, kind: str, **more: Any) -> Event:
    return {
        "type": "content_block_start",
        "index": index,
        "content_block": {"type": kind, **more},
    }


def delta(index: int, kind: str, **more: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def closing(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def ending(reason: str | None = "end_turn", **usage: Any) -> Event:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def text(said: str, index: int = 0) -> list[Event]:
    return [
        opening(index, "text", text=""),
        delta(index, "text_delta", text=said),
        closing(index),
    ]


def call(index: int, *parts: str, name: str = "sh", **more: Any) -> list[Event]:
    return [
        opening(index, "tool_use", id=f"toolu_{index}", name=name, **{"input": {}, **more}),
        *(delta(index, "input_json_delta", partial_json=part) for part in parts),
        closing(index),
    ]


def assemble(*events: Event) -> tuple[list[StreamItem], MessagesReplyAssembler]:
    assembler = MessagesReplyAssembler(Secrets("sk-secret"))
    return assembler.feed([orjson.dumps(event) for event in events]), assembler


@pytest.mark.requirement("models.stream-items")
def test_a_message_with_every_kind_of_block() -> None:
    items, assembler = assemble(
        START,
        opening(0, "thinking", thinking="", signature=""),
        PING,
        delta(0, "thinking_delta", thinking="let "),
        delta(0, "thinking_delta", thinking="me"),
        delta(0, "signature_delta", signature="c2ln"),
        closing(0),
        *text("hello", 1),
        *call(2, "", '{"a"', ":1}"),
        *call(3, '{"b":2}'),
        ending("tool_use", output_tokens=5),
        STOP,
        *text("after the end", 4),
    )
    assert items == [
        Keepalive(),
        ThinkingDelta(text="let me"),
        TextDelta(text="hello"),
        CallDelta(position=0, name="sh", characters=7),
        CallDelta(position=1, name="sh", characters=7),
    ]
    finished = assembler.finished()
    assert (finished.text, finished.thinking, finished.model) == ("hello", "let me", "served")
    assert finished.finish is FinishReason.TOOL_CALLS
    assert [(c.provider_call_id, c.arguments) for c in finished.calls] == [
        ("toolu_2", '{"a":1}'),
        ("toolu_3", '{"b":2}'),
    ]


@pytest.mark.requirement("models.tool-call-dialects")
def test_blocks_of_two_calls_that_grow_in_turn() -> None:
    _, assembler = assemble(
        call(0)[0],
        call(1)[0],
        delta(0, "input_json_delta", partial_json='{"x"'),
        delta(1, "input_json_delta", partial_json='{"y"'),
        delta(0, "input_json_delta", partial_json=":0}"),
        delta(1, "input_json_delta", partial_json=":1}"),
        ending("tool_use"),
        STOP,
    )
    assert [c.arguments for c in assembler.finished().calls] == ['{"x":0}', '{"y":1}']


@pytest.mark.requirement("models.tool-call-dialects")
@pytest.mark.parametrize(
    ("events", "arguments"),
    [
        (call(0, input={"a": 1}), '{"a":1}'),
        (call(0, input={"a": 1})[:-1], '{"a":1}'),
        (call(0, '{"b":2}', input={"a": 1}), '{"b":2}'),
        (call(0), "{}"),
        (call(0, ""), "{}"),
    ],
    ids=["whole", "whole, never closed", "whole and in deltas", "none", "an empty delta"],
)
def test_arguments_that_come_whole_or_not_at_all(events: list[Event], arguments: str) -> None:
    _, assembler = assemble(START, *events, ending("tool_use"), STOP)
    (proposed,) = assembler.finished().calls
    assert (proposed.arguments, proposed.fault) == (arguments, None)


@pytest.mark.requirement("models.tool-call-faults")
def test_arguments_that_were_cut_carry_a_fault() -> None:
    _, assembler = assemble(START, *call(0, '{"a":'), ending("max_tokens"), STOP)
    finished = assembler.finished()
    assert finished.calls[0].fault
    assert finished.finish is FinishReason.LENGTH


@pytest.mark.requirement("models.finish-reasons")
@pytest.mark.parametrize(
    ("reason", "has_call", "expected"),
    [
        ("end_turn", False, FinishReason.STOP),
        ("stop_sequence", False, FinishReason.STOP),
        ("tool_use", True, FinishReason.TOOL_CALLS),
        ("end_turn", True, FinishReason.TOOL_CALLS),
        ("tool_use", False, FinishReason.STOP),
        ("max_tokens", False, FinishReason.LENGTH),
        ("max_tokens", True, FinishReason.LENGTH),
        ("model_context_window_exceeded", False, FinishReason.LENGTH),
        ("refusal", False, FinishReason.CONTENT_FILTER),
        ("a_reason_of_tomorrow", False, FinishReason.STOP),
        (None, False, FinishReason.STOP),
    ],
)
def test_stop_reasons(reason: str | None, has_call: bool, expected: FinishReason) -> None:
    content = call(0, "{}") if has_call else text("x")
    _, assembler = assemble(START, *content, ending(reason), STOP)
    assert assembler.finished().finish is expected


@pytest.mark.requirement("models.cut-streams")
@pytest.mark.parametrize(
    "events", [[], [START], [START, *text("a")], [START, *text("a"), ending("end_turn")]]
)
def test_a_message_without_its_last_event_was_cut(events: list[Event]) -> None:
    _, assembler = assemble(*events)
    assert not assembler.is_complete
    with pytest.raises(ModelCallError) as caught:
        assembler.finished()
    assert caught.value.is_transient
    assert caught.value.is_before_first_chunk is (len(events) < 2)


@pytest.mark.requirement("models.usage")
@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (
            {"input_tokens": 9, "output_tokens": 1},
            {"output_tokens": 5},
            Usage(input_tokens=9, output_tokens=5),
        ),
        (
            {
                "input_tokens": 9,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 20,
                "output_tokens": 1,
            },
            {"input_tokens": None, "output_tokens": 5},
            Usage(input_tokens=129, output_tokens=5, cached_input_tokens=100),
        ),
        (
            {"input_tokens": 0, "output_tokens": 0},
            {
                "input_tokens": 9,
                "output_tokens": 5,
                "output_tokens_details": {"thinking_tokens": 3},
            },
            Usage(input_tokens=9, output_tokens=5, reasoning_tokens=3),
        ),
        ({}, {}, Usage()),
        ({"input_tokens": "many"}, {"output_tokens": -1}, Usage()),
    ],
)
def test_usage_from_both_ends_of_the_stream(first: Event, last: Event, expected: Usage) -> None:
    start = {"type": "message_start", "message": {"model": "m", "usage": first}}
    _, assembler = assemble(start, *text("x"), ending("end_turn", **last), STOP)
    assert assembler.finished().usage == expected


@pytest.mark.requirement("models.stream-items")
def test_what_the_dialect_may_gain_is_passed_over() -> None:
    items, assembler = assemble(
        START,
        {"type": "an_event_of_tomorrow", "data": 1},
        opening(0, "redacted_thinking", data="x"),
        closing(0),
        opening(1, "server_tool_use", id="s", name="web", input={"q": 1}),
        closing(1),
        delta(2, "citations_delta", citation={}),
        delta(2, "text_delta", text=None),
        delta(2, "text_delta"),
        {"type": "content_block_delta", "index": "2", "delta": None},
        {"type": "content_block_start", "content_block": []},
        {"type": "message_delta", "delta": None, "usage": None},
        *text("x", 3),
        STOP,
    )
    assert items == [TextDelta(text="x")]
    assert assembler.finished().calls == ()


@pytest.mark.requirement("models.error-events")
@pytest.mark.parametrize(
    ("kind", "message", "category", "is_overflow"),
    [
        (
            "invalid_request_error",
            "prompt is too long: 9001 tokens > 8192 maximum",
            ErrorCategory.INPUT_COMPATIBILITY,
            True,
        ),
        (
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
            ErrorCategory.INPUT_COMPATIBILITY,
            True,
        ),
        (
            "invalid_request_error",
            "Your credit balance is too low to access the API.",
            ErrorCategory.PROVIDER_FAILURE,
            False,
        ),
        (
            "invalid_request_error",
            "tools.0.name: invalid",
            ErrorCategory.INPUT_COMPATIBILITY,
            False,
        ),
    ],
)
def test_a_request_refused_inside_the_stream(
    kind: str, message: str, category: ErrorCategory, is_overflow: bool
) -> None:
    _, assembler = assemble({"type": "error", "error": {"type": kind, "message": message}})
    error = assembler.failure
    assert error is not None
    assert (error.category, error.is_context_overflow) == (category, is_overflow)
    assert not error.is_transient
    assert error.is_before_first_chunk
    assert message not in error.sentence


@pytest.mark.requirement("models.answer-bounded")
def test_an_answer_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_module, "MAX_REPLY_BYTES", 100)
    for kind, key in (
        ("text_delta", "text"),
        ("thinking_delta", "thinking"),
        ("input_json_delta", "partial_json"),
    ):
        _, assembler = assemble(*[delta(0, kind, **{key: "x" * 30})] * 10)
        assert assembler.failure is not None
        assert assembler.failure.category is ErrorCategory.MODEL_BEHAVIOR


BLOCKS = st.lists(
    st.one_of(
        st.tuples(st.just("text"), st.lists(st.text(), max_size=4)),
        st.tuples(st.just("thinking"), st.lists(st.text(), max_size=4)),
        st.tuples(
            st.just("call"),
            st.dictionaries(st.text(max_size=3), st.text(max_size=9), max_size=3),
        ),
    ),
    max_size=6,
)


def written(index: int, kind: str, content: Any, data: st.DataObject) -> list[Event]:
    """The events of one block; a call's arguments are cut anywhere."""
    if kind != "call":
        parts = [delta(index, f"{kind}_delta", **{kind: part}) for part in content]
        return [opening(index, kind, **{kind: ""}), *parts, closing(index)]
    arguments = orjson.dumps(content).decode()
    step = data.draw(st.integers(1, len(arguments)))
    return call(index, *(arguments[at : at + step] for at in range(0, len(arguments), step)))


@pytest.mark.requirement("models.sse-forms")
@given(blocks=BLOCKS, data=st.data())
def test_however_the_bytes_are_cut_the_answer_is_the_same(
    blocks: list[tuple[str, Any]], data: st.DataObject
) -> None:
    events = [START]
    for index, (kind, content) in enumerate(blocks):
        events += written(index, kind, content, data)
    events += [ending("end_turn", output_tokens=7), STOP]
    newline = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    stream = b"".join(
        newline.join((b"event: " + e["type"].encode(), b"data: " + orjson.dumps(e), b"", b""))
        for e in events
    )
    step = data.draw(st.integers(1, len(stream)))
    decoder, assembler = SseDecoder(), MessagesReplyAssembler(Secrets())
    items: list[StreamItem] = []
    for start in range(0, len(stream), step):
        items += assembler.feed(decoder.feed(stream[start : start + step]))
    assembler.feed(decoder.finish())
    finished = assembler.finished()
    assert finished.text == "".join("".join(c) for kind, c in blocks if kind == "text")
    assert finished.thinking == "".join("".join(c) for kind, c in blocks if kind == "thinking")
    assert finished.text == "".join(i.text for i in items if isinstance(i, TextDelta))
    assert finished.thinking == "".join(i.text for i in items if isinstance(i, ThinkingDelta))
    assert [orjson.loads(c.arguments) for c in finished.calls] == [
        c for kind, c in blocks if kind == "call"
    ]
    assert finished.usage == Usage(output_tokens=7)
