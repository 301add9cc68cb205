"""The clients of both dialects against a real server: every answer, and what they send."""

from __future__ import annotations

import orjson
import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId
from netclaw.core.messages import AssistantMessage, ToolMessage, Usage
from netclaw.core.session.commands import FinishReason
from netclaw.core.settings import ProviderType
from netclaw.core.tool_call import ToolCall
from netclaw.models.connections import ModelConnections
from netclaw.models.factory import open_client
from netclaw.models.openai_compatible import OpenAICompatibleClient
from netclaw.ports.model import (
    CallDelta,
    Credential,
    Keepalive,
    ModelClient,
    TextDelta,
    ThinkingDelta,
)
from tests.fakes.model import FakeModel
from tests.models.tools import (
    SHELL,
    asking,
    hear,
    next_output,
    raw_server,
    settings_for,
    sse_answer,
)

FORMS = ["", "[[crlf]]", "[[cr]]", "[[no_space]]", "[[multiline]]", "[[drip]]", "[[chunk:1]]"]


@pytest.mark.requirement("models.stream-items")
@pytest.mark.parametrize("form", FORMS)
async def test_text_streams_in_every_form_of_the_wire(client: ModelClient, form: str) -> None:
    heard = await hear(client, f"{form}[[reply:grüße an alle 🦀]]")
    assert heard.finished.text == heard.text == "grüße an alle 🦀"
    assert heard.finished.finish is FinishReason.STOP
    assert heard.finished.model == "m"


@pytest.mark.requirement("models.stream-items")
async def test_tokens_arrive_while_the_answer_is_still_being_made(
    client: ModelClient, fake: FakeModel
) -> None:
    stream = client.stream(asking("[[gate_after:1:more]][[reply:first second]]"))
    assert await next_output(stream) == TextDelta(text="first")
    fake.gates.open("more")
    assert await next_output(stream) == TextDelta(text=" second")
    await stream.aclose()


@pytest.mark.requirement("models.stream-items")
async def test_thinking_comes_apart_from_text(client: ModelClient) -> None:
    for key in ("reasoning_content", "reasoning"):
        heard = await hear(client, f"[[reasoning_key:{key}]][[think:let me see]][[reply:done]]")
        assert "".join(item.text for item in heard.of(ThinkingDelta)) == "let me see"
        assert (heard.finished.thinking, heard.finished.text) == ("let me see", "done")


@pytest.mark.requirement("models.stream-items")
async def test_a_megabyte_in_one_chunk_and_twenty_thousand_single_tokens(
    client: ModelClient,
) -> None:
    assert len((await hear(client, "[[big:1048576]]")).finished.text) == 1_048_576
    heard = await hear(client, "[[tokens:20000]]")
    assert heard.finished.text == heard.text == "".join(f"t{n} " for n in range(20_000))


@pytest.mark.requirement("models.tool-call-dialects")
@pytest.mark.parametrize("style", ["fragments", "whole", "no_index", "empty_chunks"])
@pytest.mark.parametrize("ids", ["unique", "same", "missing", "empty"])
async def test_parallel_calls_in_every_dialect(client: ModelClient, style: str, ids: str) -> None:
    script = (
        '[[tool:shell_execute {"command":"echo [[x]]"}]][[tool:file_read {"path":"a"}]]'
        f"[[calls:{style}]][[ids:{ids}]]"
    )
    heard = await hear(client, asking(script, tools=(SHELL,)))
    calls = heard.finished.calls
    assert [(c.name, orjson.loads(c.arguments), c.fault) for c in calls] == [
        ("shell_execute", {"command": "echo [[x]]"}, None),
        ("file_read", {"path": "a"}, None),
    ]
    assert heard.finished.finish is FinishReason.TOOL_CALLS
    assert sum(item.characters for item in heard.of(CallDelta)) == sum(
        len(c.arguments) for c in calls
    )
    provider_ids = [c.provider_call_id for c in calls]
    assert len(set(provider_ids)) == (2 if ids == "unique" else 1)
    assert all(provider_ids) is (ids in ("unique", "same"))


@pytest.mark.requirement("models.tool-call-faults")
async def test_malformed_arguments_reach_the_session_with_a_fault(
    client: ModelClient,
) -> None:
    (call,) = (await hear(client, "[[tool:shell_execute {bad]]")).finished.calls
    assert call.fault
    assert call.arguments == "{bad"


@pytest.mark.requirement("models.usage")
async def test_usage_with_cached_tokens_is_told(client: ModelClient) -> None:
    heard = await hear(client, "[[usage:90,8,60]]")
    assert heard.finished.usage == Usage(input_tokens=90, output_tokens=8, cached_input_tokens=60)
    assert (await hear(client, "[[usage:none]]x")).finished.usage == Usage()


@pytest.mark.requirement("models.finish-reasons")
@pytest.mark.parametrize(
    ("reason", "finish"),
    [("length", FinishReason.LENGTH), ("content_filter", FinishReason.CONTENT_FILTER)],
)
async def test_an_answer_cut_by_the_provider_says_so(
    client: ModelClient, reason: str, finish: FinishReason
) -> None:
    heard = await hear(client, f"[[reply:half a sen]][[finish:{reason}]]")
    assert (heard.finished.finish, heard.finished.text) == (finish, "half a sen")


@pytest.mark.requirement("models.stream-items")
async def test_empty_and_thinking_only_answers_are_reported_as_they_are(
    client: ModelClient,
) -> None:
    empty = (await hear(client, "[[empty]]")).finished
    assert (empty.text, empty.thinking, empty.calls) == ("", "", ())
    thought = (await hear(client, "[[think:hm]]")).finished
    assert (thought.text, thought.thinking) == ("", "hm")


@pytest.mark.requirement("models.keepalives")
async def test_keepalives_are_signs_of_life_and_not_output(
    client: ModelClient, fake: FakeModel
) -> None:
    stream = client.stream(asking("[[gate:go]][[keepalive:0.01]][[reply:x]]"))
    assert await anext(stream) == Keepalive()
    assert await anext(stream) == Keepalive()
    fake.gates.open("go")
    rest = [item async for item in stream if not isinstance(item, Keepalive)]
    assert rest[0] == TextDelta(text="x")


@pytest.mark.requirement("models.stream-items")
async def test_a_conversation_with_a_tool_goes_round(client: ModelClient, fake: FakeModel) -> None:
    question = asking('[[tool:shell_execute {"command":"ls"}]][[results]]', tools=(SHELL,))
    (proposed,) = (await hear(client, question)).finished.calls
    call = ToolCall(
        call_id=CallId("OURS"),
        provider_call_id=proposed.provider_call_id,
        name=proposed.name,
        arguments=proposed.arguments,
    )
    result = ToolMessage(call_id=call.call_id, text="a.txt", at=0)
    later = asking(
        *question.messages, AssistantMessage(text="", at=0, calls=(call,)), result, tools=(SHELL,)
    )
    assert (await hear(client, later)).finished.text == "results: a.txt"
    assert [r.round_index for r in fake.requests] == [0, 1]


@pytest.mark.requirement("models.no-secret-leaves")
async def test_the_credential_goes_into_the_header_and_nowhere_else(
    connections: ModelConnections,
) -> None:
    credential = Credential(secret="sk-very-secret")
    assert "sk-very-secret" not in repr(credential)
    async with FakeModel(api_key="sk-very-secret") as fake:
        client = OpenAICompatibleClient(settings_for(fake.url), connections, credential=credential)
        assert (await hear(client, "[[reply:in]]")).finished.text == "in"
        assert "sk-very-secret" not in repr(client)
        assert b"sk-very-secret" not in fake.requests[0].raw
        wrong = OpenAICompatibleClient(
            settings_for(fake.url), connections, credential=Credential(secret="sk-wrong")
        )
        assert "refused the credential" in (await hear(wrong, "x")).failure.sentence


@pytest.mark.requirement("models.whole-answers")
async def test_a_server_that_does_not_stream_is_understood(connections: ModelConnections) -> None:
    body = orjson.dumps(
        {
            "model": "m",
            "choices": [
                {
                    "finish_reason": "tool_calls",
                    "message": {
                        "content": "I look.",
                        "tool_calls": [
                            {"id": "1", "function": {"name": "sh", "arguments": '{"a":1}'}}
                        ],
                    },
                }
            ],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        }
    )
    async with raw_server(sse_answer(body, "application/json")) as url:
        heard = await hear(OpenAICompatibleClient(settings_for(url), connections), "x")
    assert (heard.text, heard.finished.usage.input_tokens) == ("I look.", 3)
    assert [c.name for c in heard.finished.calls] == ["sh"]


@pytest.mark.requirement("models.whole-answers")
async def test_a_whole_answer_that_breaks_off(connections: ModelConnections) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"
    async with raw_server(head + b'{"choices":[') as url:
        heard = await hear(OpenAICompatibleClient(settings_for(url), connections), "x")
    assert heard.failure.category is ErrorCategory.PROVIDER_FAILURE
    assert heard.failure.is_before_first_chunk


@pytest.mark.requirement("models.factory")
@pytest.mark.parametrize("provider_type", ProviderType)
async def test_every_provider_type_has_the_client_that_speaks_its_dialect(
    fake: FakeModel, connections: ModelConnections, provider_type: ProviderType
) -> None:
    settings = settings_for(fake.url, provider_type=provider_type)
    heard = await hear(open_client(settings, connections), "[[reply:hello]]")
    assert heard.finished.text == "hello"
    is_anthropic = "anthropic-version" in fake.requests[0].headers
    assert is_anthropic is (provider_type is ProviderType.ANTHROPIC)
