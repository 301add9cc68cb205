"""Files from and to Mattermost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import BinaryIO

import aiohttp

from netclaw.adapters.driver import Attachment, RefusedFailure, Thread
from netclaw.adapters.mattermost.client import Client, number, piece, text

TOO_LARGE = "The file is larger than allowed."
_PIECE = 64 * 1024
_KEPT = 256


class Files:
    """Downloads and uploads."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._sent: dict[str, str] = {}
        """Files whose bytes were taken, by key: a repeated post takes them again."""

    async def download(self, attachment: Attachment, target: Path, limit_bytes: int) -> None:
        """See `Driver.download`; what the server knows of the file is asked before its bytes."""
        if attachment.size_bytes > limit_bytes:
            raise RefusedFailure(TOO_LARGE)
        path = f"/files/{piece(attachment.handle)}"
        info = await self._client.ask("GET", f"{path}/info")
        if number(info, "delete_at") > 0:
            raise RefusedFailure("The file was deleted at Mattermost.")
        if number(info, "size") > limit_bytes:
            raise RefusedFailure(TOO_LARGE)
        async with self._client.open_file(path) as body:
            await _save(body, target, limit_bytes)

    async def send(self, thread: Thread, path: Path, name: str, key: str) -> str:
        """Bring a file's bytes to the server; its id there, for the post that shows it."""
        known = self._sent.get(key)
        if known is not None:
            return known
        with await asyncio.to_thread(path.open, "rb") as file:
            answer = await self._client.send_file(
                "/files", file, {"channel_id": thread.channel_id, "filename": name}
            )
        infos = answer.get("file_infos")
        first = infos[0] if isinstance(infos, list) and infos else None
        file_id = text(first, "id") if isinstance(first, dict) else ""
        if not file_id:
            raise RefusedFailure("Mattermost did not take the file.")
        self._sent[key] = file_id
        if len(self._sent) > _KEPT:
            del self._sent[next(iter(self._sent))]
        return file_id


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
    async for chunk in answer.content.iter_chunked(_PIECE):
        size += len(chunk)
        if size > limit_bytes:
            raise RefusedFailure(TOO_LARGE)
        file.write(chunk)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
