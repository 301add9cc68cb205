"""How long to wait before something that died is started again: ever longer, until it stays up."""

from __future__ import annotations

import time
from collections.abc import Callable

BACKOFF_S = (0.0, 1.0, 5.0, 30.0)
HEALTHY_S = 60.0
"""After so long a life a death is the first one again."""


class Relapses:
    """The deaths in a row of one helper process."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._in_a_row = 0
        self._began = monotonic()

    def begin(self) -> None:
        """It was started."""
        self._began = self._monotonic()

    def delay_s(self) -> float:
        """It died: what to wait before the next start."""
        if self._monotonic() - self._began >= HEALTHY_S:
            self._in_a_row = 0
        delay = BACKOFF_S[min(self._in_a_row, len(BACKOFF_S) - 1)]
        self._in_a_row += 1
        return delay
