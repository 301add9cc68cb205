"""How long to wait before what was lost is begun anew: ever longer, until it holds.

The host asks for its connection to the platform, the daemon for the process as a whole.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

FIRST_S = 1.0
LONGEST_S = 60.0
STABLE_S = 60.0
"""After so long a connection its loss is the first one again."""
JITTER = 0.2
"""Part of a delay that is random, so that many adapters do not come back together."""


class Reconnects:
    """The losses in a row of one connection or process."""

    def __init__(
        self,
        *,
        first_s: float = FIRST_S,
        monotonic: Callable[[], float] = time.monotonic,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self._first_s = first_s
        self._monotonic = monotonic
        self._uniform = uniform
        self._in_a_row = 0
        self._began = monotonic()

    def begin(self) -> None:
        """It is begun."""
        self._began = self._monotonic()

    def delay_s(self, retry_after_s: float | None = None) -> float:
        """It was lost: what to wait, at least what the platform asked for."""
        if self._monotonic() - self._began >= STABLE_S:
            self._in_a_row = 0
        delay = min(self._first_s * 2.0**self._in_a_row, LONGEST_S)
        self._in_a_row = min(self._in_a_row + 1, 16)
        return max(delay * (1.0 + JITTER * self._uniform()), retry_after_s or 0.0)
