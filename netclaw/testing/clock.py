"""A clock that moves only when told to."""

from __future__ import annotations

EPOCH_MS = 1_800_000_000_000
"""Where a fake clock starts: a fixed day, so that stories read the same every time."""


class FakeClock:
    """Wall time in epoch milliseconds and a monotonic time in seconds, moved together."""

    def __init__(self, now_ms: int = EPOCH_MS) -> None:
        self._now_ms = now_ms
        self._passed_ms = 0

    def now_ms(self) -> int:
        """Wall time, in milliseconds since the epoch."""
        return self._now_ms

    def monotonic_s(self) -> float:
        """Seconds since this clock was made."""
        return self._passed_ms / 1000

    def advance(self, seconds: float) -> int:
        """Let time pass; the new wall time. Raises `ValueError` for a step back."""
        if seconds < 0:
            message = "time does not go back; use `turn_back` for a wall clock that is set back"
            raise ValueError(message)
        passed = round(seconds * 1000)
        self._passed_ms += passed
        self._now_ms += passed
        return self._now_ms

    def turn_back(self, seconds: float) -> int:
        """Set the wall clock back, as an operator or NTP may; monotonic time goes on."""
        self._now_ms -= round(seconds * 1000)
        return self._now_ms
