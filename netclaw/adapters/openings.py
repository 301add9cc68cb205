"""Begins threads of our own accord: a place that is listed, one post, a session for its thread.

Once where the platform can tell: an attempt that may have been made is looked for by its key.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from netclaw.adapters.acl import Destination, Refusal, judge_destination
from netclaw.adapters.bounded import bounded
from netclaw.adapters.driver import (
    Driver,
    Place,
    Post,
    RefusedFailure,
    Thread,
    TransientFailure,
)
from netclaw.adapters.names import source_kind_of
from netclaw.adapters.parts import HostContext
from netclaw.adapters.splitting import split
from netclaw.core.authority import Authenticity, Principal
from netclaw.core.errors import DaemonDownError, NetclawError, UnauthenticatedError
from netclaw.wire.v1.common_pb2 import Sender
from netclaw.wire.v1.gateway_pb2 import EnsureSessionRequest, OutboxItem

_log = logging.getLogger(__name__)

NOT_LISTED = "The destination is not listed for this channel."

Say = Callable[[OutboxItem, Post], Awaitable[str]]


class Openings:
    """The threads that one channel begins."""

    def __init__(self, context: HostContext, say: Say) -> None:
        """`say` makes a post, or finds the one that an earlier attempt made."""
        self._context = context
        self._driver: Driver = context.driver
        self._say = say
        self._source = source_kind_of(context.config.name).value

    async def send(self, item: OutboxItem) -> str:
        """The address of the thread, which has a session and the whole text."""
        wanted = judge_destination(self._context.config, item.address)
        if isinstance(wanted, Refusal):
            _log.warning("message %d was not sent: %s", item.row_id, wanted.value)
            raise RefusedFailure(NOT_LISTED)
        first, *rest = split(item.text, self._driver.abilities.text_limit)
        thread = await self._begun(item, wanted, first)
        await self._bind(thread, wanted)
        for number, text in enumerate(rest, 1):
            await self._say(item, Post(thread=thread, key=f"{item.row_id}.{number}", text=text))
        return thread.address

    async def _begun(self, item: OutboxItem, wanted: Destination, text: str) -> Thread:
        place, key = wanted.id, f"{item.row_id}.0"
        if wanted.place is Place.DIRECT:
            place = await bounded(self._driver.open_direct(place))
        is_repeat = item.taken_over or item.attempts > 0
        if is_repeat and not self._driver.abilities.enforces_keys:
            found = await bounded(self._driver.find_thread(place, key))
            if found is not None:
                return found
        return await bounded(self._driver.begin_thread(place, text, key))

    async def _bind(self, thread: Thread, wanted: Destination) -> None:
        """Make the thread a session, so that replies need no mention."""
        sender = Sender(
            source_kind=self._source,
            principal=Principal.AUTOMATION.value,
            audience=wanted.audience.value,
            authenticity=Authenticity.VERIFIED.value,
            boundary=thread.boundary,
        )
        request = EnsureSessionRequest(session_id=thread.address, sender=sender)
        try:
            await self._context.link.ensure_session(request)
        except (DaemonDownError, UnauthenticatedError):
            raise
        except NetclawError as error:
            raise TransientFailure(error.sentence) from None
