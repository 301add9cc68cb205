"""Files from and to Slack.

The bot token goes to Slack's own hosts and nowhere else: an answer that names another host, or
sends us on to one, gets nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO
from urllib.parse import SplitResult, urlsplit

import aiohttp

from netclaw.adapters.driver import (
    Attachment,
    RefusedFailure,
    Thread,
    TransientFailure,
)
from netclaw.adapters.slack.client import API_URL, SlackClient, text
from netclaw.adapters.slack.failures import UNREACHABLE

FILE_LIMIT = 1_000_000_000
"""Bytes of one file at Slack."""
TRANSFER_TIMEOUT_S = 600.0
STALL_S = 30.0
_PIECE = 64 * 1024
_KEPT = 256
_HOSTS = ("slack.com", "slack-gov.com")
_HTML = "text/html"


class Files:
    """Downloads and uploads."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client
        self._sent: dict[str, str] = {}
        """Files whose bytes were taken, by key: a retry shares them, or finds them shared."""

    async def download(self, attachment: Attachment, target: Path, limit_bytes: int) -> None:
        """See `Driver.download`."""
        if attachment.size_bytes > limit_bytes:
            raise RefusedFailure("The file is larger than allowed.")
        answer = await self._client.ask(
            self._client.web.files_info(file=attachment.handle), is_optional=True
        )
        url = _address(answer)
        if not is_trusted(url, self._client.api_url):
            raise RefusedFailure("The file is kept outside of Slack.")
        async with self._open(url) as body:
            _require_file(body, attachment)
            await _save(body, target, limit_bytes)

    async def upload(self, thread: Thread, path: Path, name: str, key: str) -> str:
        """See `Driver.upload`; a file that this process sent before is not sent twice."""
        known = self._sent.get(key)
        if known is not None and await self._is_shared(known, thread):
            return known
        web = self._client.web
        size = (await asyncio.to_thread(path.stat)).st_size
        ticket = await self._client.ask(
            web.files_getUploadURLExternal(filename=name, length=size), is_optional=True
        )
        file_id = text(ticket, "file_id")
        await self._send(text(ticket, "upload_url"), path)
        self._sent[key] = file_id
        if len(self._sent) > _KEPT:
            del self._sent[next(iter(self._sent))]
        await self._client.ask(
            web.files_completeUploadExternal(
                files=[{"id": file_id, "title": name}],
                channel_id=thread.channel_id,
                thread_ts=thread.thread_id or None,
            ),
            is_optional=True,
        )
        return file_id

    async def _is_shared(self, file_id: str, thread: Thread) -> bool:
        try:
            answer = await self._client.ask(
                self._client.web.files_info(file=file_id), is_optional=True
            )
        except RefusedFailure:
            return False
        file = answer.get("file")
        shares = file.get("shares") if isinstance(file, dict) else None
        kinds = shares.values() if isinstance(shares, dict) else ()
        return any(isinstance(kind, dict) and thread.channel_id in kind for kind in kinds)

    async def _send(self, url: str, path: Path) -> None:
        timeout = aiohttp.ClientTimeout(total=TRANSFER_TIMEOUT_S, sock_read=STALL_S)
        try:
            with path.open("rb") as file:
                # The address itself permits the upload; no token goes with it.
                async with self._client.http.post(
                    url,
                    data=file,
                    timeout=timeout,
                    allow_redirects=False,
                    proxy=self._client.web.proxy,
                ) as answer:
                    if answer.status != HTTPStatus.OK:
                        raise TransientFailure("Slack did not take the file.")
        except (aiohttp.ClientError, TimeoutError, ValueError):
            raise TransientFailure(UNREACHABLE) from None

    @asynccontextmanager
    async def _open(self, url: str) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = {"Authorization": f"Bearer {self._client.bot_token}"}
        timeout = aiohttp.ClientTimeout(total=TRANSFER_TIMEOUT_S, sock_read=STALL_S)
        try:
            async with self._client.http.get(
                url,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
                proxy=self._client.web.proxy,
            ) as answer:
                yield answer
        except (aiohttp.ClientError, TimeoutError, ValueError):
            raise TransientFailure(UNREACHABLE) from None


def is_trusted(url: str, api_url: str) -> bool:
    """Whether the token may go to an address: Slack's, or the server's that stands for it."""
    there, api = urlsplit(url), urlsplit(api_url)
    if _origin(api) != _origin(urlsplit(API_URL)):
        return _origin(there) == _origin(api)
    host = there.hostname or ""
    return there.scheme == "https" and any(host.endswith(f".{name}") for name in _HOSTS)


def _origin(parts: SplitResult) -> tuple[str, str, int | None]:
    return parts.scheme, parts.hostname or "", parts.port


def _address(answer: Mapping[str, object]) -> str:
    file = answer.get("file")
    if not isinstance(file, dict):
        return ""
    return text(file, "url_private_download") or text(file, "url_private")


def _require_file(answer: aiohttp.ClientResponse, attachment: Attachment) -> None:
    """Raise what stands in the way of the file's bytes."""
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS or answer.status >= 500:
        raise TransientFailure("Slack does not give the file now.")
    is_page = answer.content_type == _HTML and attachment.media_type != _HTML
    if answer.status != HTTPStatus.OK or is_page:
        # Slack asks to sign in, by a redirect or a page, where the permission is missing.
        raise RefusedFailure("Slack does not give the file (the app needs files:read).")


async def _save(answer: aiohttp.ClientResponse, target: Path, limit_bytes: int) -> None:
    """Write the bytes to a new file; nothing is left of one that fails."""
    with target.open("xb") as file:
        try:
            await _copy(answer, file, limit_bytes)
        except BaseException:
            _remove(target)
            raise


async def _copy(answer: aiohttp.ClientResponse, file: BinaryIO, limit_bytes: int) -> None:
    size = 0
    async for piece in answer.content.iter_chunked(_PIECE):
        size += len(piece)
        if size > limit_bytes:
            raise RefusedFailure("The file is larger than allowed.")
        file.write(piece)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
