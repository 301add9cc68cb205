"""What the model tests share: settings, requests, collecting a stream, a server of raw bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from netclaw.core.ids import InputId
from netclaw.core.messages import Message, UserMessage
from netclaw.core.settings import ModelSettings, ProviderType
from netclaw.core.tool_call import ToolDefinition
from netclaw.ports.model import (
    Finished,
    Keepalive,
    ModelCallError,
    ModelClient,
    ModelRequest,
    StreamItem,
    TextDelta,
)

ItemT = TypeVar("ItemT", bound=StreamItem)

SHELL = ToolDefinition(
    name="shell_execute",
    description="Run a command.",
    parameters='{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}',
)


def settings_for(
    endpoint: str,
    *,
    provider_type: ProviderType = ProviderType.OPENAI_COMPATIBLE,
    max_output_tokens: int | None = None,
    model_id: str = "m",
) -> ModelSettings:
    """Settings of a model, called `m` if nothing is said, at `endpoint`."""
    return ModelSettings(
        provider="main",
        provider_type=provider_type,
        endpoint=endpoint,
        model_id=model_id,
        max_output_tokens=max_output_tokens,
    )


def said(text: str) -> UserMessage:
    """A person's message."""
    return UserMessage(input_id=InputId("input"), text=text, at=0)


def asking(*messages: Message | str, tools: tuple[ToolDefinition, ...] = ()) -> ModelRequest:
    """A request with these messages; a string is a person's."""
    return ModelRequest(
        messages=tuple(said(m) if isinstance(m, str) else m for m in messages), tools=tools
    )


class Heard:
    """The items of one stream, and how it ended."""

    def __init__(self) -> None:
        self.items: list[StreamItem] = []
        self.error: ModelCallError | None = None

    def of(self, kind: type[ItemT]) -> list[ItemT]:
        """The items of one kind."""
        return [item for item in self.items if isinstance(item, kind)]

    @property
    def text(self) -> str:
        """The text as it streamed."""
        return "".join(item.text for item in self.of(TextDelta))

    @property
    def finished(self) -> Finished:
        """The one `Finished` at the end."""
        assert self.error is None, (self.error.category, self.error.sentence, self.error.detail)
        finished = self.items[-1]
        assert isinstance(finished, Finished)
        assert len(self.of(Finished)) == 1
        return finished

    @property
    def failure(self) -> ModelCallError:
        """The error that ended the stream."""
        assert self.error is not None, self.items
        assert not self.of(Finished)
        return self.error


async def hear(client: ModelClient, request: ModelRequest | str) -> Heard:
    """Run one model call to its end."""
    heard = Heard()
    stream = client.stream(asking(request) if isinstance(request, str) else request)
    try:
        async for item in stream:
            heard.items.append(item)
    except ModelCallError as error:
        heard.error = error
    return heard


async def next_output(stream: AsyncGenerator[StreamItem, None]) -> StreamItem:
    """The next item that is not a mere sign of life."""
    while True:
        item = await anext(stream)
        if not isinstance(item, Keepalive):
            return item


@asynccontextmanager
async def raw_server(answer: bytes | Callable[[bytes], bytes]) -> AsyncIterator[str]:
    """A server that answers each connection's first bytes with `answer`, then closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            request = await reader.readuntil(b"\r\n\r\n")
            writer.write(answer(request) if callable(answer) else answer)
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


def sse_answer(body: bytes, content_type: str = "text/event-stream") -> bytes:
    """An HTTP answer without length: its end is the end of the connection."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
