"""Anthropic's own SDK against the fake: what our client is tested with is the real dialect."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anthropic
import pytest
from anthropic.types import Message, MessageParam, TextBlock, ThinkingBlock, ToolUseBlock

from tests.fakes.anthropic_dialect import ANTHROPIC
from tests.fakes.anthropic_request import VERSIONS
from tests.fakes.model import FakeModel

KEY = "sk-test"


@pytest.fixture
async def sdk(fake: FakeModel) -> AsyncIterator[anthropic.AsyncAnthropic]:
    """The vendor's client, without retries."""
    client = anthropic.AsyncAnthropic(base_url=fake.base_url, api_key=KEY, max_retries=0)
    async with client:
        yield client


async def ask(sdk: anthropic.AsyncAnthropic, *messages: MessageParam | str) -> Message:
    """The message that the SDK puts together from the stream."""
    told: list[MessageParam] = [
        {"role": "user", "content": m} if isinstance(m, str) else m for m in messages
    ]
    async with sdk.messages.stream(model="m", max_tokens=100, messages=told) as stream:
        return await stream.get_final_message()


@pytest.mark.requirement("fakes.model-dialect")
@pytest.mark.parametrize("form", ["", "[[crlf]]", "[[multiline]]", "[[no_space]]", "[[drip]]"])
async def test_the_sdk_reads_streamed_text_and_usage(
    sdk: anthropic.AsyncAnthropic, form: str
) -> None:
    message = await ask(sdk, f"{form}[[reply:hello there]][[usage:9,4,3]]")
    (block,) = message.content
    assert isinstance(block, TextBlock)
    assert block.text == "hello there"
    assert (message.stop_reason, message.model) == ("end_turn", "m")
    usage = message.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (6, 3, 4)


@pytest.mark.requirement("fakes.model-dialect")
async def test_the_sdk_puts_thinking_text_and_parallel_calls_together(
    sdk: anthropic.AsyncAnthropic,
) -> None:
    message = await ask(
        sdk,
        "[[think:let me see]][[reply:I look.]]"
        '[[tool:shell_execute {"command":"ls -la"}]][[tool:file_read {"path":"a"}]]',
    )
    thinking, text, first, second = message.content
    assert isinstance(thinking, ThinkingBlock)
    assert (thinking.thinking, bool(thinking.signature)) == ("let me see", True)
    assert isinstance(text, TextBlock)
    assert isinstance(first, ToolUseBlock)
    assert isinstance(second, ToolUseBlock)
    assert (first.name, first.input) == ("shell_execute", {"command": "ls -la"})
    assert (second.name, second.input) == ("file_read", {"path": "a"})
    assert first.id != second.id
    assert message.stop_reason == "tool_use"


@pytest.mark.requirement("fakes.model-dialect")
async def test_the_sdk_reads_a_whole_answer(sdk: anthropic.AsyncAnthropic) -> None:
    message = await sdk.messages.create(
        model="m",
        max_tokens=100,
        messages=[{"role": "user", "content": "[[think:hm]][[reply:hi]][[tool:a {}]]"}],
    )
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]


@pytest.mark.requirement("fakes.model-dialect")
@pytest.mark.parametrize(
    ("finish", "reason"), [("length", "max_tokens"), ("content_filter", "refusal")]
)
async def test_a_script_for_the_other_dialect_means_the_same_here(
    sdk: anthropic.AsyncAnthropic, finish: str, reason: str
) -> None:
    assert (await ask(sdk, f"[[reply:a]][[finish:{finish}]]")).stop_reason == reason


@pytest.mark.requirement("fakes.model-dialect")
async def test_rounds_go_on_with_the_conversation_that_the_sdk_sends(
    sdk: anthropic.AsyncAnthropic,
) -> None:
    script = "[[tool:a {}]][[results]]"
    call = (await ask(sdk, script)).content[0]
    assert isinstance(call, ToolUseBlock)
    later = await ask(
        sdk,
        script,
        {"role": "assistant", "content": [call]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "a.txt"}],
        },
    )
    assert isinstance(later.content[0], TextBlock)
    assert later.content[0].text == "results: a.txt"


@pytest.mark.requirement("fakes.model-dialect")
@pytest.mark.parametrize(
    ("script", "error", "kind"),
    [
        ("[[status:400]]", anthropic.BadRequestError, "invalid_request_error"),
        ("[[overflow]]", anthropic.BadRequestError, "invalid_request_error"),
        ("[[status:401]]", anthropic.AuthenticationError, "authentication_error"),
        ("[[status:404]]", anthropic.NotFoundError, "not_found_error"),
        ("[[status:429]][[retry_after:3]]", anthropic.RateLimitError, "rate_limit_error"),
        ("[[status:500]]", anthropic.InternalServerError, "api_error"),
        ("[[status:529]]", anthropic.InternalServerError, "overloaded_error"),
        ("[[error_event:1]][[reply:a b]]", anthropic.APIStatusError, "overloaded_error"),
    ],
)
async def test_the_sdk_takes_our_errors_for_its_own(
    sdk: anthropic.AsyncAnthropic, script: str, error: type[anthropic.APIStatusError], kind: str
) -> None:
    with pytest.raises(error) as caught:
        await ask(sdk, script)
    body = caught.value.body
    assert isinstance(body, dict)
    assert body["error"]["type"] == kind
    if isinstance(caught.value, anthropic.RateLimitError):
        assert caught.value.response.headers["retry-after"] == "3"


@pytest.mark.requirement("fakes.model-dialect")
async def test_the_sdk_sends_what_the_fake_checks(
    sdk: anthropic.AsyncAnthropic, fake: FakeModel
) -> None:
    await ask(sdk, "x")
    headers = fake.requests[0].headers
    assert ANTHROPIC.credential(headers) == KEY
    assert headers["anthropic-version"] in VERSIONS
    with pytest.raises(anthropic.BadRequestError, match="without tool_result"):
        await ask(
            sdk,
            "x",
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "1", "name": "a", "input": {}}],
            },
            "y",
        )
