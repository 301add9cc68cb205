"""The one pool of HTTP connections to model services in a process.

Kept alive between calls: a new connection costs a turn more than netclaw's own work does. No
environment is read (no proxies, no .netrc), no cookie is kept, no redirect is followed, so a
credential goes to the configured host and nowhere else.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

import aiohttp

CONNECT_TIMEOUT_S = 10.0
KEEPALIVE_S = 60.0
READ_BUFFER_BYTES = 256 * 1024


class ModelConnections:
    """Made once per process, closed at its end; belongs to the event loop of its first call."""

    def __init__(self, *, connect_timeout_s: float = CONNECT_TIMEOUT_S) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._session: aiohttp.ClientSession | None = None

    def session(self) -> aiohttp.ClientSession:
        """The session to call with; made at the first use, inside the running loop."""
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                # How long an answer may take is the caller's to judge; only connecting is bounded.
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=self._connect_timeout_s, sock_read=None
                ),
                trust_env=False,
                auto_decompress=False,
                read_bufsize=READ_BUFFER_BYTES,
                headers={"User-Agent": "netclaw"},
                skip_auto_headers=("Accept-Encoding",),
            )
        return self._session

    async def close(self) -> None:
        """Close every connection; safe to call twice."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
