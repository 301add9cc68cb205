"""Mattermost's REST interface, with its failures made ours.

Every request goes to the configured server and nowhere else: no redirect is followed, because the
token would go along.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import BinaryIO
from urllib.parse import quote

import aiohttp

from netclaw.adapters.driver import RefusedFailure, TransientFailure
from netclaw.adapters.mattermost.failures import SENSELESS, TOO_LONG, UNREACHABLE, failure_of
from netclaw.adapters.mattermost.settings import Settings

CALL_TIMEOUT_S = 30.0
TRANSFER = aiohttp.ClientTimeout(total=600.0, sock_read=30.0)
_ANSWER_LIMIT = 16 * 1024 * 1024

Json = dict[str, object]
Query = Mapping[str, str]


class Client:
    """One server, over one pool of connections."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._base = f"{settings.server_url}/api/v4"
        self._http: aiohttp.ClientSession | None = None
        self._is_found = False
        """Mattermost answered at this address."""

    @property
    def http(self) -> aiohttp.ClientSession:
        """The pool of connections; made by whoever needs it first, in the running loop."""
        if self._http is None or self._http.closed:
            self._http = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=CALL_TIMEOUT_S),
                headers={"Authorization": f"Bearer {self.settings.token}"},
            )
        return self._http

    @property
    def socket_url(self) -> str:
        """Of the event connection."""
        return f"{self._base.replace('http', 'ws', 1)}/websocket"

    async def ask(
        self, method: str, path: str, *, content: object = None, query: Query | None = None
    ) -> Json:
        """The object that a call answers with; raises the `DriverFailure` that it means."""
        found = await self._ask(method, path, content, query)
        if not isinstance(found, dict):
            raise TransientFailure(SENSELESS)
        self._is_found = True
        return found

    async def ask_all(
        self, method: str, path: str, *, content: object = None, query: Query | None = None
    ) -> list[Json]:
        """The objects of the list that a call answers with; raises as `ask` does."""
        found = await self._ask(method, path, content, query)
        if not isinstance(found, list):
            raise TransientFailure(SENSELESS)
        return [item for item in found if isinstance(item, dict)]

    async def send_file(self, path: str, file: BinaryIO, query: Query) -> Json:
        """What a file's bytes are answered with."""
        async with self._call("POST", path, query=query, data=file, timeout=TRANSFER) as answer:
            found = await _read(answer)
        if not isinstance(found, dict):
            raise TransientFailure(SENSELESS)
        return found

    @asynccontextmanager
    async def open_file(self, path: str) -> AsyncIterator[aiohttp.ClientResponse]:
        """A file's bytes as they come; raises as `ask` does, also while they are read."""
        async with self._call("GET", path, timeout=TRANSFER) as answer:
            yield answer

    async def close(self) -> None:
        """Give back the connections."""
        http, self._http = self._http, None
        if http is not None:
            await http.close()

    async def _ask(self, method: str, path: str, content: object, query: Query | None) -> object:
        timeout = aiohttp.ClientTimeout(total=CALL_TIMEOUT_S)
        async with self._call(
            method, path, query=query, content=content, timeout=timeout
        ) as answer:
            return await _read(answer)

    @asynccontextmanager
    async def _call(
        self,
        method: str,
        path: str,
        *,
        timeout: aiohttp.ClientTimeout,
        query: Query | None = None,
        content: object = None,
        data: BinaryIO | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            async with self.http.request(
                method,
                f"{self._base}{path}",
                params=query,
                json=content,
                data=data,
                timeout=timeout,
                allow_redirects=False,
            ) as answer:
                if not 200 <= answer.status < 300:
                    body = await _read(answer)
                    raise failure_of(
                        answer.status,
                        body,
                        answer.headers,
                        now_s=time.time(),
                        is_found=self._is_found,
                    )
                yield answer
        except (aiohttp.ClientError, ConnectionError, TimeoutError):
            raise TransientFailure(UNREACHABLE) from None


def piece(name: str) -> str:
    """An id as a part of a path."""
    return quote(name, safe="") or "-"


def text(holder: Mapping[str, object], name: str) -> str:
    """A text in an answer; empty if there is none."""
    found = holder.get(name)
    return found if isinstance(found, str) else ""


def number(holder: Mapping[str, object], name: str) -> int:
    """A number in an answer; 0 if there is none."""
    found = holder.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def part(holder: Mapping[str, object], name: str) -> Mapping[str, object]:
    """An object in an answer; empty if there is none."""
    found = holder.get(name)
    return found if isinstance(found, dict) else {}


async def _read(answer: aiohttp.ClientResponse) -> object:
    """The whole answer, which may come in pieces; None for what is no JSON."""
    raw = bytearray()
    async for chunk in answer.content.iter_any():
        raw += chunk
        if len(raw) > _ANSWER_LIMIT:
            raise RefusedFailure(TOO_LONG)
    return _parsed(bytes(raw))


def _parsed(raw: bytes) -> object:
    """None for what is no JSON."""
    try:
        found: object = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found
