"""One model call over HTTP, whatever the dialect of its body and its events.

What every dialect shares is here: kept connections, refused redirects, error answers, streams
that break off or never end. A dialect brings an address, headers and an assembler.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Final
from urllib.parse import urlsplit

import aiohttp

from netclaw.core.errors import ErrorCategory
from netclaw.core.settings import ModelSettings, ProviderType
from netclaw.models.connections import ModelConnections
from netclaw.models.failures import Secrets, from_status
from netclaw.models.reply import ReplyAssembler
from netclaw.models.sse import SseDecoder, SseOverflowError
from netclaw.ports.model import ModelCallError, StreamItem

ERROR_BODY_MAX_BYTES = 64 * 1024
ERROR_BODY_TIMEOUT_S = 10.0
WHOLE_BODY_MAX_BYTES = 32 * 1024 * 1024
TAIL_TIMEOUT_S = 5.0
"""After the answer is whole: how long usage and the end of the stream may still take."""
REUSE_TIMEOUT_S = 0.5
"""After the answer: how long the connection may take to become free for the next call."""
_DIRECT_BODY_BYTES: Final = 512 * 1024
_BROKEN: Final = "The connection to the model service broke off."


def _place(url: str) -> str:
    """Host and port of an address, and nothing else of it."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "?"
    return f"{parts.hostname or '?'}:{port}"


class ModelExchange:
    """One address that takes model calls; safe for many at once."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        connections: ModelConnections,
        *,
        settings: ModelSettings,
        secrets: Secrets,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._url = url
        self._settings = settings
        self._is_ollama = settings.provider_type is ProviderType.OLLAMA
        self._service = f"The model service {settings.provider} at {_place(url)}"
        self._connections = connections
        self._secrets = secrets
        self._wall_clock = wall_clock
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
            **headers,
        }

    async def stream(
        self, body: bytes, assembler: ReplyAssembler
    ) -> AsyncGenerator[StreamItem, None]:
        """Send `body` once and read the answer with `assembler`; see `ModelClient.stream`."""
        response = await self._open(body)
        try:
            await self._refuse_failure(response)
            async with aclosing(self._read(response, assembler)) as items:
                async for item in items:
                    yield item
            yield assembler.finished()
            await _drain(response)
        finally:
            # Closes the connection unless the answer was read to its end.
            response.release()

    async def _open(self, body: bytes) -> aiohttp.ClientResponse:
        """Send the request; a kept connection that the server just closed costs no attempt."""
        try:
            try:
                return await self._post(body)
            except (aiohttp.ServerDisconnectedError, ConnectionResetError, BrokenPipeError):
                return await self._post(body)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._unreachable(error) from None

    async def _post(self, body: bytes) -> aiohttp.ClientResponse:
        # A large body goes out in pieces, so that it does not hold up the loop.
        data = body if len(body) <= _DIRECT_BODY_BYTES else io.BytesIO(body)
        return await self._connections.session().post(
            self._url, data=data, headers=self._headers, allow_redirects=False
        )

    def _unreachable(self, error: Exception) -> ModelCallError:
        detail = self._secrets.scrub(f"{type(error).__name__}: {error}")
        if isinstance(error, TimeoutError):
            return ModelCallError(
                ErrorCategory.TIMEOUT,
                f"{self._service} did not take the connection in time.",
                detail=detail,
                is_transient=True,
            )
        if isinstance(error, aiohttp.ClientSSLError):
            return ModelCallError(
                ErrorCategory.PROVIDER_FAILURE,
                f"{self._service} is not to be trusted: no secure connection could be made.",
                detail=detail,
            )
        if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError | ValueError):
            return ModelCallError(
                ErrorCategory.PROVIDER_FAILURE,
                "The configured address of the model service is not a valid URL.",
                detail=detail,
            )
        is_connecting = isinstance(error, aiohttp.ClientConnectorError)
        hint = " Start it with `ollama serve`." if self._is_ollama else ""
        sentence = f"{self._service} cannot be reached.{hint}"
        return ModelCallError(
            ErrorCategory.PROVIDER_FAILURE,
            sentence if is_connecting else _BROKEN,
            detail=detail,
            is_transient=True,
        )

    async def _refuse_failure(self, response: aiohttp.ClientResponse) -> None:
        """Raise what a status other than 200 or a page instead of an answer stands for."""
        if response.status == 200 and response.content_type != "text/html":
            return
        body = b""
        with suppress(aiohttp.ClientError, OSError):
            async with asyncio.timeout(ERROR_BODY_TIMEOUT_S):
                body = await _read_bounded(response.content, ERROR_BODY_MAX_BYTES)
        if response.status != 200:
            pull = f" Fetch it with `ollama pull {self._settings.model_id}`."
            raise from_status(
                response.status,
                response.headers,
                body,
                secrets=self._secrets,
                now_s=self._wall_clock(),
                unknown_hint=pull if self._is_ollama else "",
            )
        raise ModelCallError(
            ErrorCategory.PROVIDER_FAILURE,
            "The model service answered with a web page; check the endpoint's path.",
            detail=self._secrets.scrub(body.decode("utf-8", "replace")),
        )

    async def _read(
        self, response: aiohttp.ClientResponse, assembler: ReplyAssembler
    ) -> AsyncGenerator[StreamItem, None]:
        """The items of the body. Returns at its end, early or not; the assembler knows."""
        if response.content_type == "application/json":
            for item in await self._read_whole(response, assembler):
                yield item
            return
        decoder = SseDecoder()
        reader = response.content
        is_open = True
        while is_open and not assembler.is_done and assembler.failure is None:
            try:
                chunk = await _next_chunk(reader, has_tail_limit=assembler.is_complete)
                is_open = bool(chunk)
                items = assembler.feed(decoder.feed(chunk) if chunk else decoder.finish())
            except (aiohttp.ClientError, OSError, SseOverflowError) as error:
                if not assembler.is_complete:
                    assembler.failure = self._broken(error, assembler)
                return
            for item in items:
                yield item

    async def _read_whole(
        self, response: aiohttp.ClientResponse, assembler: ReplyAssembler
    ) -> list[StreamItem]:
        try:
            body = await _read_bounded(response.content, WHOLE_BODY_MAX_BYTES)
        except (aiohttp.ClientError, OSError) as error:
            assembler.failure = self._broken(error, assembler)
            return []
        return assembler.feed_whole(body)

    def _broken(self, error: Exception, assembler: ReplyAssembler) -> ModelCallError:
        is_overflow = isinstance(error, SseOverflowError)
        return assembler.error(
            ErrorCategory.PROVIDER_FAILURE,
            "The model service sent a line without end." if is_overflow else _BROKEN,
            detail=self._secrets.scrub(f"{type(error).__name__}: {error}"),
            is_transient=not is_overflow,
        )


async def _next_chunk(reader: aiohttp.StreamReader, *, has_tail_limit: bool) -> bytes:
    """What has arrived, empty at the end of the body.

    After the answer is whole there is a limit: some servers never end the stream, and the
    turn must not wait for them. Before it there is none, and so no timer per token.
    """
    if not has_tail_limit:
        return await reader.readany()
    try:
        async with asyncio.timeout(TAIL_TIMEOUT_S):
            return await reader.readany()
    except TimeoutError:
        return b""


async def _read_bounded(reader: aiohttp.StreamReader, limit: int) -> bytes:
    """At most `limit` bytes of the body."""
    parts: list[bytes] = []
    size = 0
    while size < limit:
        part = await reader.readany()
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)[:limit]


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read the end of the body, so that the connection can be used again."""
    with suppress(aiohttp.ClientError, OSError):
        async with asyncio.timeout(REUSE_TIMEOUT_S):
            while not response.content.at_eof():
                await response.content.readany()
