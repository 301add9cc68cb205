"""Calls a model that speaks Anthropic's Messages: Anthropic itself or a gateway to it."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from typing import Final

from netclaw.core.settings import ModelSettings
from netclaw.models.anthropic_reply import MessagesReplyAssembler
from netclaw.models.anthropic_request import render_body
from netclaw.models.connections import ModelConnections
from netclaw.models.exchange import ModelExchange
from netclaw.models.failures import Secrets
from netclaw.ports.model import Credential, ModelRequest, StreamItem

API_VERSION: Final = "2023-06-01"
"""The version of the dialect; events and fields that it may gain later are passed over."""


class AnthropicClient:
    """One model behind one endpoint (see `messages_url` for the forms of its address)."""

    def __init__(
        self,
        settings: ModelSettings,
        connections: ModelConnections,
        *,
        credential: Credential | None = None,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._secrets = Secrets(credential.secret if credential else None)
        headers = {"anthropic-version": API_VERSION}
        if credential:
            headers["x-api-key"] = credential.secret
        self._exchange = ModelExchange(
            messages_url(settings.endpoint),
            headers,
            connections,
            settings=settings,
            secrets=self._secrets,
            wall_clock=wall_clock,
        )

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """See `ModelClient.stream`. One attempt; `RetryingClient` adds more."""
        body = render_body(self._settings, request)
        return self._exchange.stream(body, MessagesReplyAssembler(self._secrets))


def messages_url(endpoint: str) -> str:
    """The address to call, from a base as vendors give it, with or without `/v1`, or the whole."""
    base = endpoint.rstrip("/")
    if base.endswith("/messages"):
        return base
    if not base.endswith("/v1"):
        base += "/v1"
    return base + "/messages"
