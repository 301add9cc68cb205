"""The clients against a provider that other people wrote: it was not made to fit ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId
from netclaw.core.messages import AssistantMessage, ToolMessage, Usage
from netclaw.core.session.commands import FinishReason
from netclaw.core.tool_call import ToolCall
from netclaw.models.anthropic import AnthropicClient
from netclaw.models.connections import ModelConnections
from netclaw.models.openai_compatible import OpenAICompatibleClient
from netclaw.ports.model import Credential, ModelClient
from tests.fakes.aimock_server import aimock, choose_node
from tests.models.tools import SHELL, asking, hear, settings_for

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(params=[OpenAICompatibleClient, AnthropicClient])
async def peer(
    connections: ModelConnections, request: pytest.FixtureRequest
) -> AsyncIterator[ModelClient]:
    """A client of the peer, in either dialect."""
    async with aimock() as url:
        yield request.param(settings_for(url), connections, credential=Credential(secret="any"))


@pytest.mark.requirement("models.independent-peer")
async def test_a_streamed_text(peer: ModelClient) -> None:
    heard = await hear(peer, "please say hello")
    assert heard.finished.text == "Hello from an independent provider, in several chunks of text."
    assert heard.text == heard.finished.text
    assert heard.finished.usage == Usage(input_tokens=12, output_tokens=9)
    assert heard.finished.finish is FinishReason.STOP


@pytest.mark.requirement("models.independent-peer")
async def test_parallel_tool_calls_and_the_answer_to_their_results(
    peer: ModelClient,
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
async def test_a_rate_limit(peer: ModelClient) -> None:
    failure = (await hear(peer, "limit me")).failure
    assert failure.category is ErrorCategory.RATE_LIMITED
    assert failure.retry_after_s == 1.0
    assert failure.is_transient


@pytest.mark.requirement("models.independent-peer")
@pytest.mark.parametrize(
    ("version", "is_on_path"),
    [
        (None, False),
        ("v18.20.4", False),
        ("v20.9.0", False),
        ("nonsense", False),
        ("v24.1.0", True),
    ],
)
def test_node_comes_from_the_path_only_if_it_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, is_on_path: bool
) -> None:
    if version is not None:
        for name in ("node", "npm"):
            program = tmp_path / name
            program.write_text(f"#!/bin/sh\necho {version}\n")
            program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    chosen = choose_node()
    assert (chosen.node == str(tmp_path / "node")) is is_on_path
    assert Path(chosen.node).is_file()
    assert all(Path(part).is_file() for part in chosen.npm)
