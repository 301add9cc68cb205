"""The client against a provider that other people wrote: it was not made to fit ours."""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson
import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId
from netclaw.core.messages import AssistantMessage, ToolMessage
from netclaw.core.session.commands import FinishReason
from netclaw.core.tool_call import ToolCall
from netclaw.models.connections import ModelConnections
from netclaw.models.openai_compatible import OpenAICompatibleClient
from netclaw.ports.model import Credential, TextDelta
from tests.fakes.aimock_server import aimock
from tests.models.tools import SHELL, asking, hear, settings_for

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
async def peer(connections: ModelConnections) -> AsyncIterator[OpenAICompatibleClient]:
    """A client of the peer."""
    async with aimock() as url:
        yield OpenAICompatibleClient(
            settings_for(url), connections, credential=Credential(secret="any")
        )


@pytest.mark.requirement("models.independent-peer")
async def test_a_streamed_text(peer: OpenAICompatibleClient) -> None:
    heard = await hear(peer, "please say hello")
    assert heard.finished.text == "Hello from an independent provider, in several chunks of text."
    assert heard.text == heard.finished.text
    assert len(heard.of(TextDelta)) > 1
    assert heard.finished.usage.output_tokens > 0
    assert heard.finished.finish is FinishReason.STOP


@pytest.mark.requirement("models.independent-peer")
async def test_parallel_tool_calls_and_the_answer_to_their_results(
    peer: OpenAICompatibleClient,
) -> None:
    question = asking("list the files", tools=(SHELL,))
    finished = (await hear(peer, question)).finished
    assert finished.finish is FinishReason.TOOL_CALLS
    assert [(c.name, orjson.loads(c.arguments)) for c in finished.calls] == [
        ("shell_execute", {"command": "ls -1"}),
        ("file_read", {"path": "a.txt"}),
    ]
    calls = tuple(
        ToolCall(
            call_id=CallId(f"C{number}"),
            provider_call_id=proposed.provider_call_id,
            name=proposed.name,
            arguments=proposed.arguments,
        )
        for number, proposed in enumerate(finished.calls)
    )
    results = [ToolMessage(call_id=call.call_id, text="a.txt", at=0) for call in calls]
    later = asking(*question.messages, AssistantMessage(text="", at=0, calls=calls), *results)
    assert (await hear(peer, later)).finished.text == "There is one file: a.txt."


@pytest.mark.requirement("models.independent-peer")
async def test_a_rate_limit(peer: OpenAICompatibleClient) -> None:
    failure = (await hear(peer, "limit me")).failure
    assert failure.category is ErrorCategory.RATE_LIMITED
    assert failure.retry_after_s == 1.0
    assert failure.is_transient
