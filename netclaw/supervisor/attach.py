"""Serves subscribers: first what they missed, from the journal, then what happens.

The past and the present meet without a gap and without a doubled output: the subscriber joins the
hub before the journal is read, what is published meanwhile is kept, and of what was kept only the
part after the last replayed fact follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from netclaw.core.errors import InvalidArgumentError
from netclaw.core.session.outputs import OutputFilter
from netclaw.ports.journal import JournalRow, SessionRecord
from netclaw.supervisor.fanout import QUEUE_LIMIT_BYTES, SessionHub, Subscriber, encode
from netclaw.supervisor.router import Router
from netclaw.supervisor.rpc import RpcStream
from netclaw.supervisor.services import Services
from netclaw.wire.convert import recorded_of
from netclaw.wire.outputs import FILTER_BIT, output_to_proto
from netclaw.wire.replay import Replay
from netclaw.wire.v1.common_pb2 import Output
from netclaw.wire.v1.gateway_pb2 import AttachRequest

PAGE_ROWS = 100
"""Journal rows read at once for a replay; a row may hold megabytes."""
INLINE_BYTES = 256 * 1024


class Attachments:
    """All subscribers of all sessions."""

    def __init__(self, services: Services, router: Router) -> None:
        self._services = services
        self._router = router
        self._open: set[Subscriber] = set()
        self._is_closing = False

    async def serve(self, record: SessionRecord, request: AttachRequest, stream: RpcStream) -> None:
        """Serve one subscriber until it leaves, the session is deleted or the daemon stops."""
        if request.filter & ~int(OutputFilter.ALL):
            raise InvalidArgumentError("The filter has bits that mean nothing.")
        slot = self._router.slot(record.session_id)
        is_replay = request.HasField("after_seq")
        after = min(request.after_seq, record.head) if is_replay else record.head
        subscriber = Subscriber(request.filter, seq=after, limit=QUEUE_LIMIT_BYTES)
        if is_replay:
            subscriber.hold()
        slot.hub.subscribe(subscriber)
        self._open.add(subscriber)
        if self._is_closing:
            subscriber.close()
        try:
            await stream.open()
            if is_replay:
                await self._catch_up(record, subscriber, slot.hub, stream)
            while (message := await subscriber.next()) is not None:
                await stream.write(message)
        finally:
            self._open.discard(subscriber)
            slot.hub.unsubscribe(subscriber)
            self._router.release(slot)

    def close(self) -> None:
        """End every subscription, new ones included: the daemon stops."""
        self._is_closing = True
        for subscriber in self._open:
            subscriber.close()

    async def _catch_up(
        self, record: SessionRecord, subscriber: Subscriber, hub: SessionHub, stream: RpcStream
    ) -> None:
        """Write the durable outputs after the wanted seq, then join the present."""
        after = subscriber.seq
        replay = Replay(
            context_window=_context_window(self._services), redact=self._services.redact
        )
        is_more = True
        while is_more and not subscriber.is_closed:
            rows = await self._services.store.read_journal(
                record.session_id, since=after, limit=PAGE_ROWS
            )
            is_more = len(rows) == PAGE_ROWS
            if rows:
                after = rows[-1].seq
                await _write(await _messages_of(replay, rows, subscriber.filter), stream)
        if hub.head < after:
            # Committed, read, and perhaps not published: the subscriber would see it once more.
            await self._services.store.settle()
        await _write(_encoded(subscriber.release(after), subscriber.filter), stream)


async def _messages_of(replay: Replay, rows: Sequence[JournalRow], chosen: int) -> list[bytes]:
    """What rows show; many or large ones are read in a thread (decision 86)."""
    if sum(len(row.payload) for row in rows) <= INLINE_BYTES:
        return _replayed(replay, rows, chosen)
    return await asyncio.to_thread(_replayed, replay, rows, chosen)


def _replayed(replay: Replay, rows: Sequence[JournalRow], chosen: int) -> list[bytes]:
    outputs = []
    for row in rows:
        for output in replay.feed(recorded_of(row)):
            message = output_to_proto(output)
            message.seq, message.incarnation = row.seq, row.incarnation
            outputs.append(message)
    return _encoded(outputs, chosen)


def _encoded(outputs: Sequence[Output], chosen: int) -> list[bytes]:
    bits = 0
    for output in outputs:
        bits |= FILTER_BIT.get(output.type, 0)
    return encode(outputs, chosen, bits)


async def _write(messages: Iterable[bytes], stream: RpcStream) -> None:
    for message in messages:
        await stream.write(message)


def _context_window(services: Services) -> int:
    model = services.settings.current.session.main_model
    return model.context_window if model is not None else 0
