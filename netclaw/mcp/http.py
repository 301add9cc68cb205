"""The HTTP side of connections: bounded answers, and statuses kept as the numbers they are.

The library turns most failures into one kind of error; what really came is noted here, per
request, so that nothing has to be read out of an error's text.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass

import httpx2

MAX_ANSWER_BYTES = 16 * 1024 * 1024
MAX_FAULT_BYTES = 64 * 1024
FAULT_CHARS = 1000
"""How much of the body of a refused request is told."""
CONNECT_S = 10.0
WRITE_S = 60.0


@dataclass(slots=True, kw_only=True)
class Exchange:
    """What came back for one request; for a connection, for its last one."""

    status: int = 0
    """HTTP status, 0 as long as there is no answer."""
    is_challenge: bool = False
    """The answer was 401 with a genuine Bearer challenge."""
    body: str = ""
    """The beginning of a refusal's body."""
    is_too_large: bool = False


CURRENT: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
"""The request that the current task is about; tasks of the library inherit it."""


class TooLargeError(httpx2.StreamError):
    """An answer is larger than anything a tool should say."""


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(
        self, inner: httpx2.AsyncByteStream, exchange: Exchange | None, max_bytes: int
    ) -> None:
        self._inner = inner
        self._exchange = exchange
        self._left = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                if self._exchange is not None:
                    self._exchange.is_too_large = True
                raise TooLargeError("the answer is too large")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class _NotingTransport(httpx2.AsyncBaseTransport):
    """Notes what answers are and bounds those that end."""

    def __init__(self) -> None:
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = CURRENT.get()
        response = await self._inner.handle_async_request(request)
        if exchange is not None and request.method == "POST":
            _note(exchange, response)
        if response.headers.get("content-encoding", "identity") != "identity":
            # We asked for none: its size could not be known before it is unpacked.
            await response.aclose()
            raise TooLargeError("the answer is compressed")
        is_refused = response.status_code >= httpx2.codes.BAD_REQUEST
        if is_refused or request.method == "POST":
            assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101
            bound = MAX_FAULT_BYTES if is_refused else MAX_ANSWER_BYTES
            response.stream = _BoundedStream(response.stream, exchange, bound)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


def _note(exchange: Exchange, response: httpx2.Response) -> None:
    exchange.status = response.status_code
    challenges = response.headers.get_list("www-authenticate")
    exchange.is_challenge = response.status_code == httpx2.codes.UNAUTHORIZED and any(
        challenge.split(None, 1)[:1] and challenge.split(None, 1)[0].casefold() == "bearer"
        for challenge in challenges
    )


async def _keep_refusal(response: httpx2.Response) -> None:
    """Read the body of a refusal: the library would leave it behind."""
    exchange = CURRENT.get()
    if exchange is None or response.status_code < httpx2.codes.BAD_REQUEST:
        return
    try:
        await response.aread()
    except httpx2.StreamError:
        return
    exchange.body = response.text[:FAULT_CHARS]


def make_client(headers: Mapping[str, str]) -> httpx2.AsyncClient:
    """The client of one connection. Answers may take as long as whoever waits for them."""
    return httpx2.AsyncClient(
        headers={"accept-encoding": "identity", **headers},
        transport=_NotingTransport(),
        timeout=httpx2.Timeout(CONNECT_S, read=None, write=WRITE_S),
        event_hooks={"response": [_keep_refusal]},
        trust_env=False,
    )
