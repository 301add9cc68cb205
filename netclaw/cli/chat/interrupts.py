"""Ctrl-C of a run that has something to finish: the first asks, the second leaves."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self

POLL_S = 0.2
"""How soon a counted Ctrl-C is noticed."""


class Interrupts:
    """Counts SIGINT while it is entered; the second one raises `KeyboardInterrupt`.

    `may_wait` says whether there is anybody to ask; if not, the first one raises, too. A run whose
    SIGINT is ignored (in the background of a script) leaves it so.
    """

    def __init__(self, may_wait: Callable[[], bool]) -> None:
        self._may_wait = may_wait
        self._before: signal._HANDLER = None
        self.count = 0

    def __enter__(self) -> Self:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.count += 1
        if self.count > 1 or not self._may_wait():
            raise KeyboardInterrupt
