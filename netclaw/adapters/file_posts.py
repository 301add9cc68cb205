"""Sends an attached file: fetched from the daemon, compared with what was judged, uploaded once.

What cannot be sent is told in the thread, in fixed words with the file's name, and is no failure
of the outbox.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

from netclaw.adapters.bounded import bounded
from netclaw.adapters.driver import Driver, Post, RefusedFailure, Thread, TransientFailure
from netclaw.adapters.parts import HostContext
from netclaw.core.errors import (
    DaemonDownError,
    NetclawError,
    NotFoundError,
    UnauthenticatedError,
)
from netclaw.wire.v1.gateway_pb2 import FetchFileRequest, OutboxItem

_log = logging.getLogger(__name__)

NO_FILES = "The file {name} cannot be shown: this channel takes no files."
TOO_LARGE = "The file {name} is too large for this channel."
GONE = "The file {name} is no longer there as it was attached."
NOT_TAKEN = "The channel did not take the file {name}."

Say = Callable[[OutboxItem, Post], Awaitable[str]]


class FilePosts:
    """The files of one channel."""

    def __init__(self, context: HostContext, say: Say) -> None:
        """`say` makes a post, or finds the one that an earlier attempt made."""
        self._context = context
        self._driver: Driver = context.driver
        self._say = say

    async def send(self, item: OutboxItem) -> str:
        """The id of what shows the file or says why there is none."""
        thread = Thread.at(item.address)
        limit = self._driver.abilities.file_limit_bytes
        if not limit:
            return await self._tell(item, thread, NO_FILES)
        if item.file_bytes > limit:
            return await self._tell(item, thread, TOO_LARGE)
        known = await self._known(item, thread)
        if known:
            return known
        place = self._context.staging / f"out-{secrets.token_hex(8)}"
        try:
            if not await self._fetch(item, place):
                return await self._tell(item, thread, GONE)
            return await bounded(
                self._driver.upload(thread, place, item.file_name, _key(item)),
                is_transfer=True,
            )
        except RefusedFailure as failure:
            _log.warning("file %d was not taken: %s", item.row_id, failure.sentence)
            return await self._tell(item, thread, NOT_TAKEN)
        finally:
            place.unlink(missing_ok=True)

    async def _known(self, item: OutboxItem, thread: Thread) -> str | None:
        is_repeat = item.taken_over or item.attempts > 0
        if not is_repeat or self._driver.abilities.enforces_keys:
            return None
        return await bounded(self._driver.find_post(thread, _key(item)))

    async def _fetch(self, item: OutboxItem, place: Path) -> bool:
        """Bring the bytes into a file of ours; False for other ones than were judged."""
        request = FetchFileRequest(row_id=item.row_id, adapter_start=self._context.adapter_start)
        digest = hashlib.sha256()
        size = 0
        try:
            with place.open("xb") as file:
                async for piece in self._context.link.fetch_file(request):
                    digest.update(piece.data)
                    size += len(piece.data)
                    file.write(piece.data)
        except NotFoundError as error:
            _log.warning("file %d: %s", item.row_id, error.sentence)
            return False
        except (DaemonDownError, UnauthenticatedError):
            raise
        except NetclawError as error:
            raise TransientFailure(error.sentence) from None
        is_same = item.file_sha256 in ("", digest.hexdigest()) and size == item.file_bytes
        if not is_same:
            _log.error("file %d was changed after it was attached", item.row_id)
        return is_same

    async def _tell(self, item: OutboxItem, thread: Thread, sentence: str) -> str:
        text = sentence.format(name=_shown(item.file_name))
        return await self._say(item, Post(thread=thread, key=f"{item.row_id}.n", text=text))


def _key(item: OutboxItem) -> str:
    return f"{item.row_id}.0"


def _shown(name: str) -> str:
    """A name that marks nothing up."""
    return f"`{name.replace('`', '_')}`"
