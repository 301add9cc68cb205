"""Models whose chat template refuses two user messages in a row."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web

from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import InputId
from netclaw.core.messages import AssistantMessage, Message, NoteMessage, UserMessage
from netclaw.models.chat_request import joined
from netclaw.models.connections import ModelConnections
from netclaw.models.openai_compatible import OpenAICompatibleClient
from netclaw.ports.model import ModelCallError, ModelRequest
from tests.models.tools import settings_for

pytestmark = pytest.mark.requirement("models.alternation")

REFUSAL = "Conversation roles must alternate user/assistant/user/assistant/..."
ANSWER = (
    b'data: {"choices":[{"index":0,"delta":{"content":"yes"},"finish_reason":null}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


@dataclass(slots=True, kw_only=True)
class Strict:
    """A server with a strict template; `is_deaf` refuses everything.

    The first `together` calls are answered once all of them are there.
    """

    url: str = ""
    status: int = 500
    is_deaf: bool = False
    together: int = 1
    are_there: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[list[dict[str, Any]]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        """Refuse what does not alternate."""
        messages = (await request.json())["messages"]
        self.asked.append(messages)
        if len(self.asked) >= self.together:
            self.are_there.set()
        await self.are_there.wait()
        roles = [message["role"] for message in messages]
        if self.is_deaf or any(one == other == "user" for one, other in pairwise(roles)):
            error = {"error": {"code": self.status, "message": REFUSAL, "type": "server_error"}}
            return web.json_response(error, status=self.status)
        return web.Response(body=ANSWER, content_type="text/event-stream")


@asynccontextmanager
async def serving(strict: Strict) -> AsyncIterator[Strict]:
    """The server on a free port."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", strict.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    strict.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield strict
    finally:
        await runner.cleanup()


TALK: tuple[Message, ...] = (
    UserMessage(input_id=InputId("i1"), text="one", at=1),
    NoteMessage(text="note", at=2),
    AssistantMessage(text="answer", at=3),
    NoteMessage(text="facts", at=4),
    UserMessage(input_id=InputId("i2"), text="two", at=5),
)


async def ask(client: OpenAICompatibleClient) -> str:
    """The text of one answer."""
    items = [item async for item in client.stream(ModelRequest(messages=TALK))]
    return str(getattr(items[-1], "text", ""))


@pytest.mark.parametrize("status", [400, 500])
async def test_a_strict_template_is_asked_again_once_and_remembered(
    connections: ModelConnections, status: int
) -> None:
    async with serving(Strict(status=status)) as server:
        client = OpenAICompatibleClient(settings_for(server.url), connections)
        assert await ask(client) == "yes"
        assert await ask(client) == "yes"
        roles = [[message["role"] for message in messages] for messages in server.asked]
        assert roles == [
            ["user", "user", "assistant", "user", "user"],
            ["user", "assistant", "user"],
            ["user", "assistant", "user"],
        ]
        assert [message["content"] for message in server.asked[-1]] == [
            "one\n\nnote",
            "answer",
            "facts\n\ntwo",
        ]


async def test_calls_side_by_side_are_each_asked_again(connections: ModelConnections) -> None:
    async with serving(Strict(together=2)) as server:
        client = OpenAICompatibleClient(settings_for(server.url), connections)
        answers = await asyncio.gather(ask(client), ask(client))
        assert list(answers) == ["yes", "yes"]
        assert len(server.asked) == 4


async def test_a_template_that_refuses_that_too_is_asked_no_third_time(
    connections: ModelConnections,
) -> None:
    async with serving(Strict(status=400, is_deaf=True)) as server:
        client = OpenAICompatibleClient(settings_for(server.url), connections)
        with pytest.raises(ModelCallError) as caught:
            await ask(client)
        assert caught.value.category is ErrorCategory.INPUT_COMPATIBILITY
        assert len(server.asked) == 2


def test_pictures_are_joined_as_parts() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "facts"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
        {"role": "user", "content": "well?"},
    ]
    assert joined(messages) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "facts"},
                {"type": "text", "text": "look"},
                picture,
                {"type": "text", "text": "well?"},
            ],
        }
    ]
