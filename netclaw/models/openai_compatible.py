"""Calls a model that speaks OpenAI chat completions: OpenAI itself, Ollama, llama.cpp, vLLM, ..."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from urllib.parse import urlsplit

from netclaw.core.settings import ModelSettings
from netclaw.models.chat_reply import ChatReplyAssembler
from netclaw.models.chat_request import render_body
from netclaw.models.connections import ModelConnections
from netclaw.models.exchange import ModelExchange
from netclaw.models.failures import Secrets, wants_alternation
from netclaw.ports.model import Credential, ModelCallError, ModelRequest, StreamItem


class OpenAICompatibleClient:
    """One model behind one endpoint (see `completions_url` for the forms of its address)."""

    def __init__(
        self,
        settings: ModelSettings,
        connections: ModelConnections,
        *,
        credential: Credential | None = None,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._must_alternate = False
        """Whether the model's chat template refused two user messages in a row."""
        self._secrets = Secrets(credential.secret if credential else None)
        self._exchange = ModelExchange(
            completions_url(settings.endpoint),
            {"Authorization": f"Bearer {credential.secret}"} if credential else {},
            connections,
            settings=settings,
            secrets=self._secrets,
            wall_clock=wall_clock,
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """See `ModelClient.stream`. One attempt; `RetryingClient` adds more.

        A model whose template demands that user and assistant take turns is asked again at once,
        with neighbouring user messages joined, and from then on only so.
        """
        was_alternating = self._must_alternate
        try:
            async with aclosing(self._attempt(request)) as items:
                async for item in items:
                    yield item
        except ModelCallError as error:
            if was_alternating or not wants_alternation(error):
                raise
        else:
            return
        self._must_alternate = True
        async with aclosing(self._attempt(request)) as items:
            async for item in items:
                yield item

    def _attempt(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        body = render_body(self._settings, request, must_alternate=self._must_alternate)
        return self._exchange.stream(body, ChatReplyAssembler(self._secrets))


def completions_url(endpoint: str) -> str:
    """The address to call: an endpoint without a path means `/v1`, as local servers are given."""
    base = endpoint.rstrip("/")
    if base.endswith("/chat/completions"):
        return base
    if not urlsplit(base).path:
        base += "/v1"
    return base + "/chat/completions"
