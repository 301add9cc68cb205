"""What the client of Anthropic's Messages does that is this dialect's own."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId
from netclaw.core.messages import AssistantMessage, Message, ToolMessage
from netclaw.core.session.commands import FinishReason
from netclaw.core.tool_call import ToolCall
from netclaw.models.anthropic import AnthropicClient, messages_url
from netclaw.models.connections import ModelConnections
from netclaw.models.retry import RetryingClient, RetryPolicy
from netclaw.ports.model import Credential, Keepalive, ModelRequest, RetryScheduled, TextDelta
from tests.fakes.model import FakeModel, Outcome
from tests.models.tools import (
    SHELL,
    asking,
    hear,
    next_output,
    raw_server,
    said,
    settings_for,
    sse_answer,
)


@pytest.mark.requirement("models.request")
async def test_what_is_sent(fake: FakeModel, connections: ModelConnections) -> None:
    credential = Credential(secret="sk-ant-very-secret")
    client = AnthropicClient(settings_for(fake.base_url), connections, credential=credential)
    request = ModelRequest(system_prompt="You are netclaw.", messages=(said("x"),), tools=(SHELL,))
    await hear(client, request)
    (sent,) = fake.requests
    assert sent.headers["x-api-key"] == "sk-ant-very-secret"
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert "Authorization" not in sent.headers
    assert b"sk-ant-very-secret" not in sent.raw
    assert sent.body["stream"] is True


@pytest.mark.requirement("models.no-secret-leaves")
async def test_a_wrong_credential_is_refused_and_shown_nowhere(
    connections: ModelConnections,
) -> None:
    async with FakeModel(api_key="sk-right") as fake:
        wrong = Credential(secret="sk-wrong")
        client = AnthropicClient(settings_for(fake.url), connections, credential=wrong)
        failure = (await hear(client, "x")).failure
    assert "refused the credential" in failure.sentence
    assert "sk-wrong" not in repr((client, failure, failure.detail))


@pytest.mark.requirement("models.endpoint")
@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1/messages"),
        ("https://example.org/anthropic", "https://example.org/anthropic/v1/messages"),
    ],
)
def test_the_address_in_every_form_that_people_give(endpoint: str, url: str) -> None:
    assert messages_url(endpoint) == url


@pytest.mark.requirement("models.stream-items")
@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_thinking_text_and_parallel_calls_in_one_answer(
    anthropic_client: AnthropicClient, size: int
) -> None:
    heard = await hear(
        anthropic_client,
        "[[think:let me see]][[reply:I look.]]"
        '[[tool:shell_execute {"command":"echo [[x]]"}]][[tool:file_read {"path":"ä"}]]'
        f"[[chunk:{size}]]",
    )
    finished = heard.finished
    assert (finished.thinking, finished.text) == ("let me see", "I look.")
    assert [(c.name, orjson.loads(c.arguments), c.fault) for c in finished.calls] == [
        ("shell_execute", {"command": "echo [[x]]"}, None),
        ("file_read", {"path": "ä"}, None),
    ]
    assert all(c.provider_call_id.startswith("toolu_") for c in finished.calls)
    assert finished.finish is FinishReason.TOOL_CALLS


@pytest.mark.requirement("models.stream-items")
async def test_a_turn_of_several_rounds_with_a_message_in_between(
    anthropic_client: AnthropicClient, fake: FakeModel
) -> None:
    script = said("[[tool:a {}]][[tool:b {}]][[tool:c {}]][[results]]")
    first = (await hear(anthropic_client, asking(script))).finished.calls
    calls = tuple(
        ToolCall(
            call_id=CallId(f"OURS{n}"),
            provider_call_id=proposed.provider_call_id,
            name=proposed.name,
            arguments=proposed.arguments,
        )
        for n, proposed in enumerate(first)
    )
    results = [ToolMessage(call_id=c.call_id, text=f"{c.name} done", at=0) for c in calls]
    told: list[Message] = [
        script,
        AssistantMessage(text="", at=0, thinking="hm", calls=calls),
        *results,
    ]
    second = await hear(anthropic_client, asking(*told, "one more thing"))
    assert second.finished.text == "results: a done | b done | c done"
    assert b"thinking" not in fake.requests[1].raw
    answer = fake.requests[1].messages[2]
    assert [b["type"] for b in answer["content"]] == ["tool_result"] * 3 + ["text"]


@pytest.mark.requirement("models.cut-streams")
@pytest.mark.parametrize("script", ["[[no_done]][[reply:a b]]", "[[no_finish]][[reply:a b]]"])
async def test_an_answer_without_its_last_event_was_cut(
    anthropic_client: AnthropicClient, script: str
) -> None:
    heard = await hear(anthropic_client, script)
    assert heard.text == "a b"
    assert heard.failure.category is ErrorCategory.PROVIDER_FAILURE
    assert not heard.failure.is_before_first_chunk


@pytest.mark.requirement("models.cut-streams")
async def test_a_stream_that_broke_off_after_its_opening_may_be_asked_for_again(
    connections: ModelConnections,
) -> None:
    opening = b'event: message_start\ndata: {"type":"message_start","message":{"model":"m"}}\n\n'
    async with raw_server(sse_answer(opening)) as url:
        failure = (await hear(AnthropicClient(settings_for(url), connections), "x")).failure
    assert failure.is_before_first_chunk
    assert failure.is_transient


@pytest.mark.requirement("models.error-events")
@pytest.mark.parametrize(
    ("kind", "category", "is_transient"),
    [
        ("overloaded_error", ErrorCategory.RATE_LIMITED, True),
        ("rate_limit_error", ErrorCategory.RATE_LIMITED, True),
        ("api_error", ErrorCategory.PROVIDER_FAILURE, True),
        ("timeout_error", ErrorCategory.TIMEOUT, True),
        ("invalid_request_error", ErrorCategory.INPUT_COMPATIBILITY, False),
        ("request_too_large", ErrorCategory.INPUT_COMPATIBILITY, False),
        ("authentication_error", ErrorCategory.PROVIDER_FAILURE, False),
        ("permission_error", ErrorCategory.PROVIDER_FAILURE, False),
        ("not_found_error", ErrorCategory.PROVIDER_FAILURE, False),
        ("billing_error", ErrorCategory.PROVIDER_FAILURE, False),
        ("an_error_of_tomorrow", ErrorCategory.PROVIDER_FAILURE, True),
    ],
)
@pytest.mark.parametrize("after", [0, 1])
async def test_errors_inside_the_stream(
    anthropic_client: AnthropicClient,
    kind: str,
    category: ErrorCategory,
    is_transient: bool,
    after: int,
) -> None:
    script = f"[[error_event:{after}]][[error_type:{kind}]][[reply:a b]]"
    failure = (await hear(anthropic_client, script)).failure
    assert (failure.category, failure.is_transient) == (category, is_transient)
    assert failure.is_context_overflow is (kind == "request_too_large")
    assert failure.is_before_first_chunk is (after == 0)
    assert "HTTP" not in failure.sentence


@pytest.mark.requirement("models.retry")
@pytest.mark.parametrize(
    "fault", ["[[error_event:0]][[attempts:2]]", "[[status:529:2]]", "[[status:429:2]]"]
)
async def test_an_overloaded_service_is_asked_again(
    anthropic_client: AnthropicClient, fake: FakeModel, fault: str
) -> None:
    patient = RetryingClient(anthropic_client, policy=RetryPolicy(base_s=0.001))
    heard = await hear(patient, f"{fault}[[reply:at last]]")
    assert heard.finished.text == "at last"
    assert len(heard.of(RetryScheduled)) == 2
    assert [r.attempt for r in fake.requests] == [1, 2, 3]


@pytest.mark.requirement("models.retry-after")
async def test_retry_after_is_waited_for(anthropic_client: AnthropicClient) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    patient = RetryingClient(anthropic_client, sleep=sleep)
    heard = await hear(patient, "[[status:429:1]][[retry_after:12]][[reply:at last]]")
    assert heard.finished.text == "at last"
    assert waits == [12.0]


@pytest.mark.requirement("models.keepalives")
async def test_a_stall_with_pings_is_no_output_and_ends_when_the_caller_leaves(
    anthropic_client: AnthropicClient, fake: FakeModel
) -> None:
    stream = anthropic_client.stream(
        asking("[[gate_after:1:never]][[keepalive:0.01]][[reply:a b]]")
    )
    assert await next_output(stream) == TextDelta(text="a")
    async with asyncio.timeout(10):
        assert [await anext(stream) for _ in range(5)] == [Keepalive()] * 5
    await stream.aclose()
    await fake.wait_for_outcome(Outcome.DISCONNECTED)


@pytest.mark.requirement("models.whole-answers")
async def test_a_gateway_that_does_not_stream_is_understood(connections: ModelConnections) -> None:
    body = orjson.dumps(
        {
            "type": "message",
            "model": "m",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "1", "name": "sh", "input": {"a": 1}},
                {"type": "tool_use", "id": "2", "name": "now", "input": {}},
            ],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 3, "output_tokens": 2},
        }
    )
    async with raw_server(sse_answer(body, "application/json")) as url:
        heard = await hear(AnthropicClient(settings_for(url), connections), "x")
    finished = heard.finished
    assert (heard.text, finished.thinking, finished.usage.input_tokens) == ("I look.", "hm", 3)
    assert [(c.name, c.arguments) for c in finished.calls] == [("sh", '{"a":1}'), ("now", "{}")]
