"""Files from and to Discord. An address carries its own permission: no token goes with it."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO
from urllib.parse import SplitResult, urlsplit

import aiohttp
import discord
from discord.http import handle_message_parameters

from netclaw.adapters.discord.client import API_URL, DiscordClient, Json, Library
from netclaw.adapters.discord.components import nonce_of
from netclaw.adapters.discord.failures import UNREACHABLE
from netclaw.adapters.discord.payloads import id_of
from netclaw.adapters.discord.threads import Threads
from netclaw.adapters.driver import Attachment, RefusedFailure, Thread, TransientFailure

FILE_LIMIT = 10 * 1024 * 1024
"""Bytes of one file, in a server that pays for nothing."""
TRANSFER_TIMEOUT_S = 600.0
STALL_S = 30.0
_PIECE = 64 * 1024
_HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})


class Files:
    """Downloads and uploads."""

    def __init__(
        self, client: DiscordClient, threads: Threads, note: Callable[[Json], None]
    ) -> None:
        """`note` hears of every post that holds a file."""
        self._client = client
        self._threads = threads
        self._note = note

    async def download(self, attachment: Attachment, target: Path, limit_bytes: int) -> None:
        """See `Driver.download`; what it fetches is never sent on to another address."""
        if attachment.size_bytes > limit_bytes:
            raise RefusedFailure("The file is larger than allowed.")
        if not is_discords(attachment.handle, self._client.api_url):
            raise RefusedFailure("The file is kept outside of Discord.")
        timeout = aiohttp.ClientTimeout(total=TRANSFER_TIMEOUT_S, sock_read=STALL_S)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as http,
                http.get(attachment.handle, allow_redirects=False) as answer,
            ):
                _require_file(answer)
                await _save(answer, target, limit_bytes)
        except (aiohttp.ClientError, TimeoutError, ValueError):
            raise TransientFailure(UNREACHABLE) from None

    async def upload(self, thread: Thread, path: Path, name: str, key: str) -> str:
        """See `Driver.upload`; Discord answers a repetition within minutes with the first one."""
        nonce = nonce_of(key)

        async def work(channel_id: str) -> str:
            async def send(library: Library) -> str:
                with path.open("rb") as opened:
                    file = discord.File(opened, filename=name)
                    with handle_message_parameters(file=file, nonce=nonce) as params:
                        message = await library.http.send_message(channel_id, params=params)
                self._note(dict(message) | {"nonce": nonce})
                return id_of(dict(message), "id")

            return await self._client.call(send, timeout_s=TRANSFER_TIMEOUT_S)

        return await self._threads.within(thread, work)


def is_discords(url: str, api_url: str) -> bool:
    """Whether a file's address is Discord's, or the server's that stands for it."""
    there, api = urlsplit(url), urlsplit(api_url)
    if _origin(api) != _origin(urlsplit(API_URL)):
        return _origin(there) == _origin(api)
    return there.scheme == "https" and (there.hostname or "") in _HOSTS


def _origin(parts: SplitResult) -> tuple[str, str, int | None]:
    return parts.scheme, parts.hostname or "", parts.port


def _require_file(answer: aiohttp.ClientResponse) -> None:
    """Raise what stands in the way of the file's bytes."""
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS or answer.status >= 500:
        raise TransientFailure("Discord does not give the file now.")
    if answer.status != HTTPStatus.OK:
        raise RefusedFailure("The file is not at Discord any more.")


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
