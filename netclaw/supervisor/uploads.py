"""Takes files from clients into a session's staging folder, in pieces and within limits.

What lies there is untrusted and not yet part of anything: a message names it by its upload id.
What no message named within a day, and what a killed daemon left half written, goes with the next
upload to that session; all together has a limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO

from netclaw.core.context import modality
from netclaw.core.errors import (
    InputIncompatibleError,
    InvalidArgumentError,
    NotFoundError,
    StorageFullError,
    StorageReadOnlyError,
    TooLargeError,
)
from netclaw.core.messages import MediaRef
from netclaw.core.settings import SessionStorage
from netclaw.supervisor.callers import check_short_text
from netclaw.supervisor.ids import new_id
from netclaw.supervisor.inbox import COPY, put_into_inbox
from netclaw.supervisor.rpc import RpcStream
from netclaw.wire.v1 import common_pb2
from netclaw.wire.v1.gateway_pb2 import UploadChunk

CHUNK_LIMIT = 1024 * 1024
FILE_LIMIT = 100 * 1024 * 1024
SESSION_LIMIT = 1024 * 1024 * 1024
"""What the uploads of one session may hold together."""
UNNAMED_LIMIT_S = 24 * 3600.0
"""How long an upload waits for the message that names it."""
MEDIA_PER_MESSAGE = 20
DEFAULT_TYPE = "application/octet-stream"
_ID_LENGTH = 16


class Uploads:
    """The staging folders of all sessions."""

    def __init__(self) -> None:
        self._under_way: dict[Path, _Folder] = {}

    async def receive(
        self, storage: SessionStorage, first: UploadChunk, stream: RpcStream
    ) -> MediaRef:
        """Write the pieces of one file; nothing of it stays if it does not come whole.

        Raises `TooLargeError`, `InvalidArgumentError` or a `StorageError`.
        """
        name = check_short_text(Path(first.name).name, "file name") or "file"
        media_type = check_short_text(first.media_type, "media type") or DEFAULT_TYPE
        upload_id = new_id()
        staging = Path(storage.staging)
        place = staging / upload_id
        folder = await self._enter(staging)
        try:
            size = await self._write(place, first, stream, folder)
            facts = json.dumps({"name": name, "media_type": media_type})
            await _to_the_end(lambda: _facts_of(place).write_text(facts, encoding="utf-8"))
            # A sender that went away looks at first like one that has sent all.
            await asyncio.sleep(0)
        except OSError as error:
            _remove(place)
            raise _storage_error(error) from None
        except BaseException:
            _remove(place)
            raise
        finally:
            self._leave(staging, folder)
        return MediaRef(upload_id=upload_id, media_type=media_type, size_bytes=size, name=name)

    async def copy_to_inbox(self, storage: SessionStorage, media: MediaRef) -> str:
        """Let the session's tools see an upload; the path of their copy.

        Raises `TooLargeError` or a `StorageError`.
        """
        upload = Path(storage.staging) / media.upload_id
        try:
            return await asyncio.to_thread(put_into_inbox, storage, upload, media.name)
        except OSError as error:
            raise _storage_error(error) from None

    async def find(
        self, storage: SessionStorage, wanted: Iterable[common_pb2.MediaRef]
    ) -> tuple[MediaRef, ...]:
        """The uploads a message names; raises `NotFoundError` for one that is not there."""
        named = list(wanted)
        if len(named) > MEDIA_PER_MESSAGE:
            raise TooLargeError(
                f"A message has at most {MEDIA_PER_MESSAGE} attachments.",
                fix="Send the others with another message.",
            )
        return await asyncio.to_thread(
            lambda: tuple(_look_up(Path(storage.staging), media.upload_id) for media in named)
        )

    async def check_pictures(self, storage: SessionStorage, media: Iterable[MediaRef]) -> None:
        """Refuse pictures that are none by their content; raises `InputIncompatibleError`."""
        pictures = [item for item in media if modality.is_picture(item)]
        if pictures:
            await asyncio.to_thread(_check_pictures, Path(storage.staging), pictures)

    async def _enter(self, staging: Path) -> _Folder:
        """Know what the folder holds while anything is uploaded to it; tidy it before."""
        folder = self._under_way.get(staging)
        if folder is None:
            folder = self._under_way[staging] = _Folder()
        folder.uploads += 1
        try:
            async with folder.lock:
                if folder.used is None:
                    folder.used = await asyncio.to_thread(_tidy, staging, time.time())
        except BaseException:
            self._leave(staging, folder)
            raise
        return folder

    def _leave(self, staging: Path, folder: _Folder) -> None:
        folder.uploads -= 1
        if not folder.uploads:
            self._under_way.pop(staging, None)

    async def _write(
        self, place: Path, first: UploadChunk, stream: RpcStream, folder: _Folder
    ) -> int:
        opened: list[BinaryIO] = []
        size = 0
        try:
            await _to_the_end(lambda: opened.append(_create(place)))
            (file,) = opened
            chunk: UploadChunk | None = first
            while chunk is not None:
                size += len(chunk.data)
                folder.take(len(chunk.data))
                _check_sizes(len(chunk.data), size)
                await _to_the_end(partial(file.write, chunk.data))
                chunk = await stream.read()
        except BaseException:
            folder.give_back(size)
            raise
        finally:
            for file in opened:
                file.close()
        return size


@dataclass(slots=True)
class _Folder:
    """A staging folder while something is uploaded to it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    used: int | None = None
    """Bytes in it; None until it was looked at."""
    uploads: int = 0

    def take(self, size: int) -> None:
        """Count what is about to be written; raises `TooLargeError`."""
        self.used = (self.used or 0) + size
        if self.used > SESSION_LIMIT:
            raise TooLargeError(
                f"The uploads of a session have at most {SESSION_LIMIT} bytes together.",
                fix="Start another session, or delete this one with `netclaw sessions delete`.",
            )

    def give_back(self, size: int) -> None:
        """What was written is removed again."""
        self.used = (self.used or 0) - size


async def _to_the_end(work: Callable[[], object]) -> None:
    """Work in a thread; a caller that is cancelled leaves only when the thread is done.

    What it made is then there to be removed: a thread that went on would make it afterwards.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,))
        raise


def _tidy(staging: Path, now_s: float) -> int:
    """Remove what nobody will ever name; answers the bytes that are left."""
    used = 0
    for place in sorted(staging.iterdir()) if staging.is_dir() else ():
        if place.suffix and place.suffix != COPY:
            continue
        status = place.lstat()
        is_whole = _facts_of(place).exists()
        is_named = _mark_of(place).exists()
        is_old = now_s - status.st_mtime > UNNAMED_LIMIT_S
        if (is_whole and (is_named or not is_old)) or (place.suffix and not is_old):
            used += status.st_size
        else:
            _remove(place)
    return used


def _check_sizes(chunk: int, total: int) -> None:
    if chunk > CHUNK_LIMIT:
        raise TooLargeError(
            f"A piece of an upload has at most {CHUNK_LIMIT} bytes.", fix="Send smaller pieces."
        )
    if total > FILE_LIMIT:
        raise TooLargeError(
            f"An upload has at most {FILE_LIMIT} bytes.", fix="Send a smaller file."
        )


def _create(place: Path) -> BinaryIO:
    _private_folder(place.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(place, flags, 0o600), "wb")


def _private_folder(folder: Path) -> None:
    if not folder.is_dir():
        _private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _remove(place: Path) -> None:
    for path in (place, _facts_of(place), _mark_of(place)):
        with contextlib.suppress(OSError):
            path.unlink()


def _facts_of(place: Path) -> Path:
    return place.with_suffix(".json")


def _mark_of(place: Path) -> Path:
    """The file that says that a message named the upload."""
    return place.with_suffix(".named")


def _look_up(staging: Path, upload_id: str) -> MediaRef:
    if len(upload_id) != _ID_LENGTH or not upload_id.isalnum():
        raise InvalidArgumentError("The upload id is malformed.")
    place = staging / upload_id
    try:
        facts = json.loads(_facts_of(place).read_text(encoding="utf-8"))
        size = place.stat().st_size
    except (FileNotFoundError, ValueError):
        raise NotFoundError(
            f"There is no upload {upload_id} in this session.", fix="Upload the file again."
        ) from None
    with contextlib.suppress(OSError):
        _mark_of(place).touch(mode=0o600)
    return MediaRef(
        upload_id=upload_id, media_type=facts["media_type"], size_bytes=size, name=facts["name"]
    )


def _check_pictures(staging: Path, pictures: Iterable[MediaRef]) -> None:
    for item in pictures:
        with (staging / item.upload_id).open("rb") as file:
            head = file.read(modality.HEAD_BYTES)
        if modality.picture_type(head) is None:
            raise InputIncompatibleError(
                f"{item.name!r} is no picture, whatever it is called.",
                fix="Send the file as it is, under its own media type.",
            )


def _storage_error(error: OSError) -> StorageFullError | StorageReadOnlyError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFullError("The disk that holds the netclaw home has no room for the file.")
    return StorageReadOnlyError("The file cannot be stored in the netclaw home.")
