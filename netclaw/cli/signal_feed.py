"""The signal log as an endless sequence that survives restarts of the daemon."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from netclaw.cli.chat.pump import Pump
from netclaw.cli.client import DaemonClient
from netclaw.core.errors import (
    DaemonDownError,
    DrainingError,
    NetclawError,
    UnauthenticatedError,
)

if TYPE_CHECKING:
    from netclaw.config.home import Home
    from netclaw.wire.v1.admin_pb2 import SignalsTail

RECONNECT_DELAYS_S = (1.0, 2.0, 5.0, 10.0)
GONE = (DaemonDownError, DrainingError, UnauthenticatedError)
"""What a daemon between two lives looks like; a token is only good for one of them."""


class SignalFeed:
    """Follows the log, of one session or of all (an empty id), and never shows a change twice.

    A lost connection is taken up again after 1, 2, 5 and 10 seconds, from the last change on, so
    none is missed. Raises `DaemonDownError` when no daemon came back.
    """

    def __init__(
        self,
        client: DaemonClient,
        home: Home,
        session_id: str,
        *,
        since: int | None,
        tell: Callable[[str], None],
    ) -> None:
        self._client = client
        self._home = home
        self._session_id = session_id
        self._since = since
        self._tell = tell
        self.is_connected = True
        """Whether there is a daemon to ask; False while a lost connection is taken up again."""
        self._stream = self._follow()

    def close(self) -> None:
        """Stop following and close the connection."""
        self._stream.cancel()
        self._client.__exit__(None, None, None)

    def watch(self, patience_s: float) -> Iterator[SignalsTail | None]:
        """What the daemon sends, and a None whenever nothing came for so long."""
        while True:
            try:
                batch = self._stream.take(patience_s)
            except StopIteration:
                self._reconnect(DaemonDownError("The daemon ended the connection."))
                continue
            except GONE as error:
                self._reconnect(error)
                continue
            if batch is not None:
                shown = (event.sequence for event in batch.events)
                self._since = max((self._since or 0, batch.head, *shown))
            yield batch

    def _follow(self) -> Pump[SignalsTail]:
        from netclaw.wire.v1.admin_pb2 import TailSignalsRequest

        request = TailSignalsRequest(session_id=self._session_id)
        if self._since is not None:
            request.since = self._since
        return Pump(self._client.stream(self._client.admin.TailSignals, request))

    def _reconnect(self, error: NetclawError) -> None:
        self.is_connected = False
        self._tell("[connection] the daemon went away; connecting again")
        self._stream.cancel()
        self._client.__exit__(None, None, None)
        for delay_s in RECONNECT_DELAYS_S:
            time.sleep(delay_s)
            try:
                self._client = DaemonClient(self._home)
                self._stream = self._follow()
            except GONE as latest:
                error = latest
            else:
                self.is_connected = True
                self._tell("[connection] back")
                return
        raise error
