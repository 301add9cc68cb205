"""Sending one reply of the fake model over HTTP, with the faults that its script asks for."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

import orjson
from aiohttp import web

from tests.fakes.model_reply import Body, Faults, Reply
from tests.fakes.model_wire import GARBAGE, Frame, sse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakes.model_dialect import Dialect

HTML = "<html><head><title>502</title></head><body><h1>Bad Gateway</h1></body></html>"

OVERFLOWS: dict[str, Any] = {
    "openai": {
        "error": {
            "message": "This model's maximum context length is 8192 tokens. However, your messages "
            "resulted in 9001 tokens. Please reduce the length of the messages.",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
    },
    "llamacpp": {
        "error": {
            "code": 400,
            "message": "the request exceeds the available context size, try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 9001,
            "n_ctx": 8192,
        }
    },
    "vllm": {
        "object": "error",
        "message": "This model's maximum context length is 8192 tokens. However, you requested "
        "9001 tokens in the messages. Please reduce the length of the messages.",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    },
    "ollama": {"error": "input length exceeds the context length"},
    "anthropic": {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "prompt is too long: 9001 tokens > 8192 maximum",
        },
    },
    "plain": "prompt too long; exceeded max context length by 809 tokens",
}

STATUS_WORDS = {
    400: "Invalid value for 'messages'.",
    401: "Incorrect API key provided.",
    403: "You do not have access to this model.",
    404: "The model does not exist.",
    429: "Rate limit reached.",
    500: "The server had an error.",
    503: "The engine is currently overloaded.",
    529: "Overloaded",
}


class Cut(Exception):
    """The script drops the connection here."""


class Gates:
    """Named places where answers wait until a test lets them go on."""

    def __init__(self) -> None:
        self._events: dict[str, asyncio.Event] = {}
        self._waiting: Counter[str] = Counter()
        self._arrival = asyncio.Condition()

    def waiting(self, name: str) -> int:
        """How many answers wait at this gate now."""
        return self._waiting[name]

    def open(self, name: str) -> None:
        """Let pass all that wait at the gate or come to it later."""
        self._event(name).set()

    def reset(self) -> None:
        """Let all waiting answers go and make every gate closed again."""
        for event in self._events.values():
            event.set()
        self._events.clear()

    async def wait_for_arrival(self, name: str, waiting: int = 1) -> None:
        """Return once `waiting` answers wait at the gate."""
        async with self._arrival:
            await self._arrival.wait_for(lambda: self._waiting[name] >= waiting)

    async def pass_through(self, name: str) -> None:
        """Wait at the gate."""
        self._waiting[name] += 1
        try:
            async with self._arrival:
                self._arrival.notify_all()
            await self._event(name).wait()
        finally:
            self._waiting[name] -= 1

    def _event(self, name: str) -> asyncio.Event:
        return self._events.setdefault(name, asyncio.Event())


async def answer(
    request: web.Request,
    *,
    dialect: Dialect,
    reply: Reply,
    frame: Frame,
    is_stream: bool,
    gates: Gates,
    latency_s: float,
    token_s: float,
) -> web.StreamResponse:
    """Send `reply`; raises ConnectionError when the client has gone."""
    faults = reply.faults
    if faults.stall_headers_s:
        await asyncio.sleep(faults.stall_headers_s)
    if refusal := _refusal(faults, dialect):
        return refusal
    if not is_stream:
        await asyncio.sleep(latency_s + faults.stall_s)
        if faults.gate:
            await gates.pass_through(faults.gate[1])
        return web.Response(
            body=orjson.dumps(dialect.whole(reply, frame)), content_type="application/json"
        )
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
    )
    await response.prepare(request)
    stream = _Stream(response, dialect, reply, gates, faults.pace_s or token_s)
    try:
        await stream.silence(latency_s + faults.stall_s)
        await stream.send(frame)
    except Cut:
        if request.transport is not None:
            request.transport.abort()
        return response
    await response.write_eof()
    return response


def _refusal(faults: Faults, dialect: Dialect) -> web.Response | None:
    if faults.redirect_to is not None:
        return web.Response(status=307, headers={"Location": faults.redirect_to})
    if faults.body is Body.HTML:
        return web.Response(text=HTML, content_type="text/html")
    if faults.status is None:
        return None
    headers = {"Retry-After": faults.retry_after} if faults.retry_after is not None else {}
    if faults.overflow is not None:
        shape = OVERFLOWS[faults.overflow or dialect.overflow]
        if isinstance(shape, str):
            return web.Response(text=shape, status=faults.status, headers=headers)
        return web.json_response(shape, status=faults.status, headers=headers)
    words = STATUS_WORDS.get(faults.status, "The request failed.")
    body = dialect.error_body(faults.status, words, None)
    return web.json_response(body, status=faults.status, headers=headers)


class _Stream:
    """The body of one streamed answer."""

    def __init__(
        self,
        response: web.StreamResponse,
        dialect: Dialect,
        reply: Reply,
        gates: Gates,
        pace_s: float,
    ) -> None:
        self._response = response
        self._dialect = dialect
        self._reply = reply
        self._faults = reply.faults
        self._gates = gates
        self._pace_s = pace_s

    async def send(self, frame: Frame) -> None:
        """Write the whole body; without pauses and faults it is one write."""
        reply = self._reply
        closing = self._closing(frame)
        if not self._pace_s and reply.faults.is_plain:
            events = self._dialect.chunks(reply, frame)
            await self._response.write(b"".join((*events, *closing)))
            return
        chunks = self._dialect.chunks(reply, frame)
        for number in count():
            await self._faults_at(number)
            chunk = next(chunks, None)
            if chunk is None:
                break
            if number and self._pace_s:
                await asyncio.sleep(self._pace_s)
            await self._write(chunk)
        for event in closing:
            await self._write(event)

    def _closing(self, frame: Frame) -> Iterator[bytes]:
        if self._faults.is_finish_sent:
            yield from self._dialect.finish(self._reply, frame)
        if self._faults.is_done_sent:
            yield self._dialect.end(self._reply)

    async def _write(self, data: bytes) -> None:
        if not self._faults.is_drip:
            await self._response.write(data)
            return
        for value in data:
            await self._response.write(bytes((value,)))
            await asyncio.sleep(0)

    async def _faults_at(self, number: int) -> None:
        faults = self._faults
        if faults.gate and faults.gate[0] == number:
            await self._with_keepalive(self._gates.pass_through(faults.gate[1]))
        if faults.stall_after and faults.stall_after[0] == number:
            await self.silence(faults.stall_after[1])
        if faults.garbage_after == number:
            await self._write(sse(self._reply, GARBAGE))
        if faults.error_event_after == number:
            await self._write(self._dialect.error_event(self._reply))
        if faults.cut_after == number:
            raise Cut

    async def silence(self, seconds: float) -> None:
        """Send no token for that long."""
        if seconds > 0:
            await self._with_keepalive(asyncio.sleep(seconds))

    async def _with_keepalive(self, wait: Any) -> None:
        if self._faults.keepalive_s is None:
            await wait
            return
        task = asyncio.ensure_future(wait)
        try:
            while not task.done():
                await asyncio.wait((task,), timeout=self._faults.keepalive_s)
                if not task.done():
                    await self._response.write(self._dialect.keepalive)
        finally:
            task.cancel()
