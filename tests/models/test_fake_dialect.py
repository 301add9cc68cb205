"""The vendor's own SDK against the fake: what our client is tested with is the real dialect."""

from __future__ import annotations

from collections.abc import AsyncIterator

import openai
import pytest
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageFunctionToolCall

from tests.fakes.model import FakeModel

KEY = "sk-test"


@pytest.fixture
async def sdk(fake: FakeModel) -> AsyncIterator[openai.AsyncOpenAI]:
    """The vendor's client, without retries."""
    async with openai.AsyncOpenAI(base_url=fake.url, api_key=KEY, max_retries=0) as client:
        yield client


async def ask(sdk: openai.AsyncOpenAI, script: str) -> list[ChatCompletionChunk]:
    stream = await sdk.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": script}],
        stream=True,
        stream_options={"include_usage": True},
    )
    return [chunk async for chunk in stream]


@pytest.mark.requirement("fakes.model-dialect")
@pytest.mark.parametrize("form", ["", "[[crlf]]", "[[multiline]]", "[[no_space]]", "[[drip]]"])
async def test_the_sdk_reads_streamed_text_and_usage(sdk: openai.AsyncOpenAI, form: str) -> None:
    chunks = await ask(sdk, f"{form}[[reply:hello there]][[usage:9,4,3]]")
    said = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert said == "hello there"
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    usage = chunks[-1].usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (9, 4, 13)
    assert usage.prompt_tokens_details is not None
    assert usage.prompt_tokens_details.cached_tokens == 3


@pytest.mark.requirement("fakes.model-dialect")
async def test_the_sdk_puts_parallel_tool_calls_together(sdk: openai.AsyncOpenAI) -> None:
    script = '[[tool:shell_execute {"command":"ls -la"}]][[tool:file_read {"path":"a"}]]'
    async with sdk.chat.completions.stream(
        model="m", messages=[{"role": "user", "content": script}]
    ) as stream:
        completion = await stream.get_final_completion()
    calls = completion.choices[0].message.tool_calls or []
    assert [(c.function.name, c.function.arguments) for c in calls] == [
        ("shell_execute", '{"command":"ls -la"}'),
        ("file_read", '{"path":"a"}'),
    ]
    assert len({c.id for c in calls}) == 2
    assert completion.choices[0].finish_reason == "tool_calls"


@pytest.mark.requirement("fakes.model-dialect")
async def test_the_sdk_reads_a_whole_answer(sdk: openai.AsyncOpenAI) -> None:
    completion = await sdk.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "[[reply:hi]][[tool:a {}]]"}]
    )
    message = completion.choices[0].message
    assert message.content == "hi"
    (call,) = message.tool_calls or []
    assert isinstance(call, ChatCompletionMessageFunctionToolCall)
    assert call.function.name == "a"


@pytest.mark.requirement("fakes.model-dialect")
async def test_the_sdk_lists_the_models(sdk: openai.AsyncOpenAI) -> None:
    assert [model.id async for model in sdk.models.list()] == ["fake-model"]


@pytest.mark.requirement("fakes.model-dialect")
@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("[[status:400]]", openai.BadRequestError),
        ("[[overflow]]", openai.BadRequestError),
        ("[[status:401]]", openai.AuthenticationError),
        ("[[status:404]]", openai.NotFoundError),
        ("[[status:429]][[retry_after:3]]", openai.RateLimitError),
        ("[[status:500]]", openai.InternalServerError),
        ("[[error_event:1]][[reply:a b]]", openai.APIError),
    ],
)
async def test_the_sdk_takes_our_errors_for_its_own(
    sdk: openai.AsyncOpenAI, script: str, error: type[openai.APIError]
) -> None:
    with pytest.raises(error) as caught:
        await ask(sdk, script)
    if isinstance(caught.value, openai.RateLimitError):
        assert caught.value.response.headers["retry-after"] == "3"
    if script == "[[overflow]]":
        assert caught.value.code == "context_length_exceeded"


@pytest.mark.requirement("fakes.model-dialect")
async def test_the_sdk_sends_what_the_fake_checks(sdk: openai.AsyncOpenAI, fake: FakeModel) -> None:
    await ask(sdk, "x")
    assert fake.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    with pytest.raises(openai.BadRequestError, match="tool message"):
        await sdk.chat.completions.create(
            model="m",
            messages=[
                {"role": "user", "content": "x"},
                {
                    "role": "assistant",
                    "tool_calls": [
                        {"id": "1", "type": "function", "function": {"name": "a", "arguments": ""}}
                    ],
                },
                {"role": "user", "content": "y"},
            ],
        )
