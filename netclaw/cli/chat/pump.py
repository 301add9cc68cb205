"""Reads a blocking stream in a thread of its own, so that its reader can stop waiting."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from netclaw.core.errors import NetclawError

if TYPE_CHECKING:
    from netclaw.cli.client import ResponseStream

MAX_WAITING = 16
"""Batches read ahead; a terminal that is slower than that is the daemon's to notice."""
END_WAIT_S = 5.0
Item = TypeVar("Item")


class Pump(Generic[Item]):
    """A stream whose next item is waited for only so long."""

    def __init__(self, stream: ResponseStream[Item]) -> None:
        self._stream = stream
        self._waiting: queue.Queue[Item | Exception] = queue.Queue(MAX_WAITING)
        self._is_cancelled = False
        self._thread = threading.Thread(target=self._run, name="outputs", daemon=True)
        self._thread.start()

    def take(self, patience_s: float | None) -> Item | None:
        """The next item; None when there was none within `patience_s` seconds (None: no limit).

        Raises what the stream raised, `StopIteration` at its end.
        """
        try:
            item = self._waiting.get(timeout=patience_s)
        except queue.Empty:
            return None
        if isinstance(item, Exception):
            raise item
        return item

    def cancel(self) -> None:
        """Tell the daemon that nobody reads any more, and end the thread."""
        self._is_cancelled = True
        self._stream.cancel()
        while not self._waiting.empty():  # one place is enough for a thread that waits for it
            self._waiting.get_nowait()
        self._thread.join(END_WAIT_S)

    def _run(self) -> None:
        try:
            for item in self._stream:
                self._waiting.put(item)
                if self._is_cancelled:
                    return
            self._waiting.put(StopIteration())
        except (NetclawError, ValueError) as error:  # ValueError: the channel was closed
            self._waiting.put(error)
