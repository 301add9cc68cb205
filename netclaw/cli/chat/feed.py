"""The outputs of one session as an endless sequence that survives restarts of the daemon."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from netclaw.cli.chat.pump import Pump
from netclaw.cli.client import DaemonClient
from netclaw.config.home import Home
from netclaw.core.errors import (
    DaemonDownError,
    DrainingError,
    InternalError,
    NetclawError,
    UnauthenticatedError,
)

if TYPE_CHECKING:
    from netclaw.wire.v1.common_pb2 import Output, OutputBatch
    from netclaw.wire.v1.gateway_pb2 import SessionDetail

RECONNECT_DELAYS_S = (1.0, 2.0, 5.0, 10.0)
MAX_IDLE_RESYNCS = 5
GONE = (DaemonDownError, DrainingError, UnauthenticatedError)
"""What a daemon between two lives looks like; a token is only good for one of them."""


class SessionFeed:
    """Attaches to a session and yields its outputs in order.

    A lost connection is taken up again after 1, 2, 5 and 10 seconds, from the last durable output
    on; what was lost between are deltas alone, and the final text repeats those. Raises
    `DaemonDownError` when no daemon came back.
    """

    def __init__(
        self,
        client: DaemonClient,
        home: Home,
        session_id: str,
        *,
        filter_bits: int,
        after_seq: int | None,
        tell: Callable[[str], None],
    ) -> None:
        self._client = client
        self._home = home
        self._session_id = session_id
        self._filter_bits = filter_bits
        self._last_seq = after_seq
        self._tell = tell
        self._idle_resyncs = 0
        self.is_connected = True
        """Whether there is a daemon to ask; False while a lost connection is taken up again."""
        self.on_again: Callable[[SessionDetail], None] | None = None
        """Told what the session is like, each time it is attached to again: what it did meanwhile
        is replayed, but not whether it works now."""
        self._stream = self._attach()

    @property
    def client(self) -> DaemonClient:
        """The connection in use now; a reconnect replaces it."""
        return self._client

    @property
    def last_seq(self) -> int | None:
        """Journal position of the last durable output; None before the first."""
        return self._last_seq

    def restart_from(self, after_seq: int) -> None:
        """Attach again, replaying durable outputs after this position."""
        self._last_seq = after_seq
        self._attach_again()

    def close(self) -> None:
        """Detach and close the connection."""
        self._stream.cancel()
        self._client.__exit__(None, None, None)

    def _attach(self) -> Pump[OutputBatch]:
        from netclaw.wire.batches import BatchJoiner
        from netclaw.wire.v1.gateway_pb2 import AttachRequest

        # Pieces of a text belong together within one subscription only.
        self._joiner = BatchJoiner()
        request = AttachRequest(session_id=self._session_id, filter=self._filter_bits)
        if self._last_seq is not None:
            request.after_seq = self._last_seq
        return Pump(self._client.stream(self._client.gateway.Attach, request))

    def _attach_again(self) -> None:
        self._stream.cancel()
        self._stream = self._attach()
        self._look_again()

    def _look_again(self) -> None:
        """Ask for the present once its outputs are being kept for us; they come after it."""
        if self.on_again is None:
            return
        from netclaw.wire.v1.gateway_pb2 import GetSessionRequest

        request = GetSessionRequest(session_id=self._session_id)
        with suppress(NetclawError):  # what keeps the daemon from answering ends the stream, too
            self.on_again(self._client.call(self._client.gateway.GetSession, request))

    def __iter__(self) -> Iterator[Output]:
        return (output for output in self.watch(lambda: None) if output is not None)

    def watch(self, patience_s: Callable[[], float | None]) -> Iterator[Output | None]:
        """The outputs, and a None whenever none came for as long as `patience_s` says then."""
        while True:
            batch = self._next_batch(patience_s())
            if batch is None:
                yield None
                continue
            for output in self._joiner.feed(batch):
                yield output
                if output.type == "resync":
                    self._resync()
                    break
                if output.seq > (self._last_seq or 0):
                    self._last_seq = output.seq
                    self._idle_resyncs = 0

    def _next_batch(self, patience_s: float | None) -> OutputBatch | None:
        while True:
            try:
                return self._stream.take(patience_s)
            except StopIteration:
                self.reconnect(DaemonDownError("The daemon ended the connection."))
            except GONE as error:
                self.reconnect(error)

    def _resync(self) -> None:
        self._idle_resyncs += 1
        if self._idle_resyncs > MAX_IDLE_RESYNCS:
            raise InternalError(
                "This terminal cannot keep up with the session's output.",
                fix=f"Read it with `netclaw sessions history {self._session_id}`.",
            )
        self._attach_again()

    def reconnect(self, error: NetclawError) -> None:
        """Connect to the next daemon, or raise what the last attempt met."""
        self.is_connected = False
        self._tell("[connection] lost; connecting again")
        self._client.__exit__(None, None, None)
        for delay_s in RECONNECT_DELAYS_S:
            time.sleep(delay_s)
            try:
                self._client = DaemonClient(self._home)
                self._stream = self._attach()
                self._look_again()
            except GONE as latest:
                error = latest
            else:
                self.is_connected = True
                self._tell("[connection] back")
                return
        raise error
