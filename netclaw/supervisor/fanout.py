"""Hands a session's outputs to its subscribers, each by its own filter, all in one order.

An output batch is encoded once per distinct filter, never once per subscriber. A subscriber's
queue is bounded: one that cannot keep up loses its queue and gets `resync(seq)`, the last durable
fact it was handed, from where it can read the history. Because the serialized form of two
batches, joined, is one batch, a reader that fell behind gets all that waits in one message.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from netclaw.wire.batches import PUBLIC_LIMIT, split_outputs
from netclaw.wire.outputs import FILTER_BIT, RESYNC
from netclaw.wire.v1.common_pb2 import Output, OutputBatch

QUEUE_LIMIT_BYTES = 4 * 1024 * 1024
"""What may wait for one subscriber before its queue is dropped."""
JOIN_LIMIT_BYTES = 256 * 1024
"""How much of what waits is joined into one message."""


class Subscriber:
    """One attached client: a filter and a bounded queue of serialized batches."""

    def __init__(self, chosen: int, *, seq: int, limit: int = QUEUE_LIMIT_BYTES) -> None:
        self.filter = chosen
        self.is_closed = False
        self._limit = limit
        self._queue: deque[tuple[bytes, int]] = deque()
        self._size = 0
        self._handed_seq = seq
        self._waiter: asyncio.Future[None] | None = None
        self._held: list[Output] | None = None
        self._held_size = 0
        self._has_lost = False

    @property
    def seq(self) -> int:
        """The last durable fact it was handed, or where it came in."""
        return self._handed_seq

    def hold(self) -> None:
        """Keep what is published aside while the past is read for this subscriber."""
        self._held = []

    @property
    def is_holding(self) -> bool:
        """Whether the past is still being read for it."""
        return self._held is not None

    def keep(self, outputs: Sequence[Output]) -> None:
        """Take outputs aside; called by the hub while `is_holding`."""
        if self._held is None:
            return
        for output in outputs:
            self._held_size += output.ByteSize()
            if self._held_size > self._limit:
                self._held.clear()
                self._held_size = 0
                self._has_lost = True
            copy = Output()
            copy.CopyFrom(output)
            self._held.append(copy)

    def release(self, replayed_seq: int) -> list[Output]:
        """Stop holding; returns what was published after the fact `replayed_seq`.

        What was kept before the last durable output that the replay has shown already is older
        than the replay, ephemeral outputs included.
        """
        held = self._held or []
        self._held = None
        self._handed_seq = max(self._handed_seq, replayed_seq)
        begin = 0
        for place, output in enumerate(held):
            if 0 < output.seq <= replayed_seq:
                begin = place + 1
        lost = [Output(type=RESYNC, seq=self._handed_seq)] if self._has_lost else []
        return lost + held[begin:]

    def push(self, batches: Sequence[bytes], seq: int) -> None:
        """Queue serialized batches that belong together, all of them or none.

        `seq` is their last durable fact (0: none); a part of them is a text without its end.
        """
        if self._size + sum(map(len, batches)) > self._limit and self._size:
            self._overflow()
        for batch in batches[:-1]:
            self._queue.append((batch, 0))
            self._size += len(batch)
        self._queue.append((batches[-1], seq))
        self._size += len(batches[-1])
        self._wake()

    def close(self) -> None:
        """End the subscription after what is queued."""
        self.is_closed = True
        self._wake()

    async def next(self) -> bytes | None:
        """The next message for this subscriber, or None when the subscription has ended."""
        while not self._queue:
            if self.is_closed:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._take()

    def _take(self) -> bytes:
        batch, seq = self._queue.popleft()
        size = len(batch)
        parts = [batch]
        while self._queue and size + len(self._queue[0][0]) <= JOIN_LIMIT_BYTES:
            more, more_seq = self._queue.popleft()
            parts.append(more)
            size += len(more)
            seq = max(seq, more_seq)
        self._size -= size
        self._handed_seq = max(self._handed_seq, seq)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _overflow(self) -> None:
        self._queue.clear()
        resync = OutputBatch(outputs=[Output(type=RESYNC, seq=self._handed_seq)])
        batch = resync.SerializeToString()
        self._queue.append((batch, 0))
        self._size = len(batch)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class SessionHub:
    """The subscribers of one session; everything it publishes has one order for all of them."""

    def __init__(self, on_interest: Callable[[int], None] | None = None) -> None:
        self.head = 0
        """seq of the last commit that was published here, 0 if none was yet."""
        self._incarnation = 0
        self._index = 0
        self._interest = 0
        self._subscribers: list[Subscriber] = []
        self._on_interest = on_interest

    @property
    def interest(self) -> int:
        """OR of all subscribers' filter bits."""
        return self._interest

    @property
    def has_subscribers(self) -> bool:
        """Whether anybody watches."""
        return bool(self._subscribers)

    def begin_incarnation(self, incarnation: int) -> None:
        """Count ephemeral outputs anew: their index is valid for one incarnation."""
        self._incarnation = incarnation
        self._index = 0

    def subscribe(self, subscriber: Subscriber) -> None:
        """Add a subscriber; it sees what is published from now on."""
        self._subscribers.append(subscriber)
        self._refresh_interest()

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Drop a subscriber; the session does not notice more than a changed interest."""
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)
            self._refresh_interest()

    def close(self) -> None:
        """End every subscription: the session is gone, or the daemon stops."""
        for subscriber in self._subscribers:
            subscriber.close()

    def publish(self, batch: OutputBatch) -> None:
        """Number the outputs of a batch and hand it to every subscriber its filter admits."""
        seq = 0
        bits = 0
        for output in batch.outputs:
            self._index += 1
            output.index = self._index
            output.incarnation = self._incarnation
            seq = max(seq, output.seq)
            bits |= FILTER_BIT.get(output.type, 0)
        if not self._subscribers:
            return
        encoded: dict[int, list[bytes]] = {}
        for subscriber in self._subscribers:
            if subscriber.is_holding:
                subscriber.keep(batch.outputs)
                continue
            data = encoded.get(subscriber.filter)
            if data is None:
                data = encode(batch.outputs, subscriber.filter, bits)
                encoded[subscriber.filter] = data
            if data:
                subscriber.push(data, seq)

    def _refresh_interest(self) -> None:
        interest = 0
        for subscriber in self._subscribers:
            interest |= subscriber.filter
        if interest != self._interest:
            self._interest = interest
            if self._on_interest is not None:
                self._on_interest(interest)


def encode(outputs: Sequence[Output], chosen: int, bits: int) -> list[bytes]:
    """Serialize what a filter admits, as one batch or as several where one would be too large.

    `bits` are the filter bits of all outputs.
    """
    admitted = outputs
    if bits & ~chosen:
        admitted = [
            output
            for output in outputs
            if not (bit := FILTER_BIT.get(output.type, 0)) or bit & chosen
        ]
    if not admitted:
        return []
    whole = OutputBatch(outputs=admitted).SerializeToString()
    if len(whole) <= PUBLIC_LIMIT:
        return [whole]
    return [batch.SerializeToString() for batch in split_outputs(admitted)]
