"""A chat completion read event by event: what is said, when it counts as whole, what breaks it."""

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
from netclaw.models.chat_reply import DONE, ChatReplyAssembler
from netclaw.models.failures import Secrets
from netclaw.models.sse import KEEPALIVE, SseDecoder
from netclaw.ports.model import (
    CallDelta,
    Keepalive,
    ModelCallError,
    StreamItem,
    TextDelta,
    ThinkingDelta,
)
from netclaw.wire.batches import PUBLIC_LIMIT


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> bytes:
    body = {"model": "served", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return orjson.dumps({**body, **more})


def call(arguments: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "id": "1", "function": {"arguments": arguments, **more}}]}


STOP = chunk({}, "stop")


def assemble(*events: bytes) -> tuple[list[StreamItem], ChatReplyAssembler]:
    assembler = ChatReplyAssembler(Secrets("sk-secret"))
    return assembler.feed(list(events)), assembler


@pytest.mark.requirement("models.stream-items")
def test_deltas_of_one_read_leave_as_one_item_in_order() -> None:
    items, assembler = assemble(
        chunk({"role": "assistant", "content": ""}),
        chunk({"reasoning_content": "let "}),
        chunk({"reasoning_content": "me"}),
        KEEPALIVE,
        chunk({"content": "hel"}),
        chunk({"content": "lo"}),
        chunk(call("", name="sh")),
        chunk(call('{"a":1}')),
        chunk({}, "tool_calls"),
        DONE,
        chunk({"content": "after the end"}),
    )
    assert items == [
        ThinkingDelta(text="let me"),
        Keepalive(),
        TextDelta(text="hello"),
        CallDelta(position=0, name="sh", characters=7),
    ]
    finished = assembler.finished()
    assert (finished.text, finished.thinking, finished.model) == ("hello", "let me", "served")
    assert finished.finish is FinishReason.TOOL_CALLS
    assert [(c.name, c.arguments) for c in finished.calls] == [("sh", '{"a":1}')]


@pytest.mark.requirement("models.stream-items")
@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        ({"reasoning": "hm"}, [ThinkingDelta(text="hm")]),
        ({"content": [{"type": "text", "text": "a"}, {"text": "b"}, 3]}, [TextDelta(text="ab")]),
        ({"refusal": "I will not."}, [TextDelta(text="I will not.")]),
        ({"content": None, "tool_calls": None, "reasoning_content": None}, []),
        ({"content": 5, "tool_calls": {}, "reasoning_content": []}, []),
        (None, []),
        ("text", []),
    ],
)
def test_dialects_and_odd_types_of_a_delta(delta: Any, expected: list[StreamItem]) -> None:
    items, assembler = assemble(chunk(delta), STOP)
    assert items == expected
    assert assembler.failure is None


@pytest.mark.requirement("models.finish-reasons")
@pytest.mark.parametrize(
    ("reason", "has_calls", "expected"),
    [
        ("stop", False, FinishReason.STOP),
        ("stop", True, FinishReason.TOOL_CALLS),
        ("tool_calls", True, FinishReason.TOOL_CALLS),
        ("tool_calls", False, FinishReason.STOP),
        ("function_call", True, FinishReason.TOOL_CALLS),
        ("eos", False, FinishReason.STOP),
        ("LENGTH", False, FinishReason.LENGTH),
        ("length", True, FinishReason.LENGTH),
        ("max_tokens", False, FinishReason.LENGTH),
        ("content_filter", True, FinishReason.CONTENT_FILTER),
    ],
)
def test_finish_reasons(reason: str, has_calls: bool, expected: FinishReason) -> None:
    delta = call("{}", name="sh") if has_calls else {"content": "x"}
    _, assembler = assemble(chunk(delta), chunk({}, reason))
    assert assembler.finished().finish is expected


@pytest.mark.requirement("models.cut-streams")
@pytest.mark.parametrize("events", [[], [chunk({"content": "a"})], [chunk({"content": "a"}), DONE]])
def test_an_answer_without_finish_reason_was_cut(events: list[bytes]) -> None:
    _, assembler = assemble(*events)
    with pytest.raises(ModelCallError) as caught:
        assembler.finished()
    assert caught.value.category is ErrorCategory.PROVIDER_FAILURE
    assert caught.value.is_transient
    assert caught.value.is_before_first_chunk is (not events)


@pytest.mark.requirement("models.usage")
@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 5},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(input_tokens=9, output_tokens=4, cached_input_tokens=5, reasoning_tokens=2),
        ),
        (
            {"prompt_tokens": 9, "prompt_cache_hit_tokens": 3},
            Usage(input_tokens=9, cached_input_tokens=3),
        ),
        ({"prompt_tokens": None, "prompt_tokens_details": None}, Usage()),
        ({"prompt_tokens": "many", "completion_tokens": -3}, Usage()),
        ("free", Usage()),
        (None, Usage()),
    ],
)
def test_usage_in_every_form(usage: Any, expected: Usage) -> None:
    _, assembler = assemble(STOP, orjson.dumps({"choices": [], "usage": usage}), DONE)
    assert assembler.finished().usage == expected


@pytest.mark.requirement("models.usage")
def test_the_last_usage_counts_when_every_chunk_carries_one() -> None:
    _, assembler = assemble(
        chunk({"content": "a"}, usage={"prompt_tokens": 5, "completion_tokens": 1}),
        chunk({}, "stop", usage={"prompt_tokens": 5, "completion_tokens": 2}),
        orjson.dumps({"choices": [], "usage": None}),
    )
    assert assembler.finished().usage == Usage(input_tokens=5, output_tokens=2)


@pytest.mark.requirement("models.garbage")
@pytest.mark.parametrize("garbage", [b"{no json", b"<html>", b"5", b"[]", b"null", b'"text"'])
def test_what_is_no_chunk_ends_the_answer_after_what_came_before(garbage: bytes) -> None:
    items, assembler = assemble(chunk({"content": "kept"}), garbage, chunk({"content": "not"}))
    assert items == [TextDelta(text="kept")]
    with pytest.raises(ModelCallError) as caught:
        assembler.finished()
    assert caught.value.category is ErrorCategory.PROVIDER_FAILURE
    assert not caught.value.is_before_first_chunk


@pytest.mark.requirement("models.garbage")
@pytest.mark.parametrize(
    "value", [{}, {"choices": None}, {"choices": [None]}, {"choices": [5]}, {"object": "x"}]
)
def test_chunks_that_say_nothing_are_passed_over(value: Any) -> None:
    items, assembler = assemble(orjson.dumps(value), STOP)
    assert items == []
    assert assembler.finished().finish is FinishReason.STOP


@pytest.mark.requirement("models.garbage")
def test_invalid_utf8_costs_its_character_and_not_the_answer() -> None:
    bad = chunk({"content": "a?b"}).replace(b"?", b"\xff")
    items, _ = assemble(bad, STOP)
    assert items == [TextDelta(text="a\ufffdb")]


@pytest.mark.requirement("models.error-events")
@pytest.mark.parametrize(
    ("event", "category", "is_transient", "is_overflow"),
    [
        ({"error": {"message": "boom", "code": 500}}, ErrorCategory.PROVIDER_FAILURE, True, False),
        ({"error": "boom"}, ErrorCategory.PROVIDER_FAILURE, True, False),
        ({"object": "error", "message": "boom"}, ErrorCategory.PROVIDER_FAILURE, True, False),
        ({"error": {"message": "Rate limit reached"}}, ErrorCategory.RATE_LIMITED, True, False),
        (
            {"error": {"code": "insufficient_quota", "message": "quota"}},
            ErrorCategory.RATE_LIMITED,
            False,
            False,
        ),
        (
            {"error": {"code": "context_length_exceeded", "message": "x"}},
            ErrorCategory.INPUT_COMPATIBILITY,
            False,
            True,
        ),
    ],
)
def test_an_error_inside_the_stream(
    event: Any, category: ErrorCategory, is_transient: bool, is_overflow: bool
) -> None:
    _, assembler = assemble(chunk({"content": "a"}), orjson.dumps(event))
    error = assembler.failure
    assert error is not None
    assert (error.category, error.is_transient, error.is_context_overflow) == (
        category,
        is_transient,
        is_overflow,
    )
    assert not error.is_before_first_chunk
    assert "boom" not in error.sentence


@pytest.mark.requirement("models.error-events")
def test_a_finish_reason_that_means_failure_is_one() -> None:
    _, assembler = assemble(chunk({"content": "a"}, "error"))
    with pytest.raises(ModelCallError):
        assembler.finished()


@pytest.mark.requirement("models.answer-bounded")
def test_an_answer_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_module, "MAX_REPLY_BYTES", 100)
    _, assembler = assemble(*[chunk({"content": "x" * 30})] * 10)
    error = assembler.failure
    assert error is not None
    assert error.category is ErrorCategory.MODEL_BEHAVIOR
    _, assembler = assemble(*[chunk(call("", name="s"))], *[chunk(call("x" * 30))] * 10)
    assert assembler.failure is not None


@pytest.mark.requirement("models.answer-bounded")
def test_the_bound_of_an_answer_counts_bytes_and_leaves_no_row_that_nobody_can_read() -> None:
    assert reply_module.MAX_REPLY_BYTES < PUBLIC_LIMIT
    _, assembler = assemble(*[chunk({"content": "ü" * 1024 * 1024})])
    assert assembler.failure is None
    _, assembler = assemble(*[chunk({"content": "ü" * 1024 * 1024})] * 2)
    assert assembler.failure is not None
    assert assembler.failure.category is ErrorCategory.MODEL_BEHAVIOR


@pytest.mark.requirement("models.answer-bounded")
def test_more_calls_than_any_answer_needs_are_a_runaway() -> None:
    calls = [
        {"index": n, "id": str(n), "function": {"name": "s", "arguments": "{}"}} for n in range(200)
    ]
    _, assembler = assemble(chunk({"tool_calls": calls}))
    assert assembler.failure is not None
    assert assembler.failure.category is ErrorCategory.MODEL_BEHAVIOR


@pytest.mark.requirement("models.stream-items")
@given(
    parts=st.lists(
        st.tuples(st.sampled_from(["content", "reasoning_content"]), st.text()), max_size=12
    ),
    data=st.data(),
)
def test_however_the_bytes_are_cut_the_answer_is_the_same(
    parts: list[tuple[str, str]], data: st.DataObject
) -> None:
    events = [chunk({kind: text}) for kind, text in parts] + [STOP, DONE]
    stream = b"".join(b"data: " + event + b"\n\n" for event in events)
    step = data.draw(st.integers(1, len(stream)))
    decoder, assembler = SseDecoder(), ChatReplyAssembler(Secrets())
    items: list[StreamItem] = []
    for start in range(0, len(stream), step):
        items += assembler.feed(decoder.feed(stream[start : start + step]))
    finished = assembler.finished()
    assert finished.text == "".join(t for kind, t in parts if kind == "content")
    assert finished.thinking == "".join(t for kind, t in parts if kind != "content")
    assert finished.text == "".join(i.text for i in items if isinstance(i, TextDelta))
    assert finished.thinking == "".join(i.text for i in items if isinstance(i, ThinkingDelta))
