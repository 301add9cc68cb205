"""Keeps the output of a command within a ceiling while it streams: its beginning and its end."""

from __future__ import annotations

TAIL_BYTES = 32 * 1024
_WORD_BYTES = 4096


class Capture:
    """Takes any amount of output and holds at most the ceiling and a short tail.

    Complete up to the ceiling (decision 87); beyond it the newest `TAIL_BYTES` are kept too,
    because a command's last words say how it ended. Where something was left out, the words at
    both edges go with it: half a secret could not be recognised and redacted.
    """

    def __init__(self, ceiling: int) -> None:
        self._ceiling = ceiling
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def feed(self, piece: bytes) -> None:
        """The sink of a running command."""
        self.total += len(piece)
        room = self._ceiling - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        if piece:
            self._tail += piece[-TAIL_BYTES:]
            if len(self._tail) > 4 * TAIL_BYTES:
                del self._tail[:-TAIL_BYTES]

    @property
    def is_complete(self) -> bool:
        """Whether nothing was left out."""
        return self.total == len(self._head) + len(self._tail)

    def text(self) -> str:
        """What was kept, with a line in the middle that says how much was not."""
        if self.is_complete:
            return (self._head + self._tail).decode("utf-8", "replace")
        size = _last_gap(self._head)
        tail = _from_first_gap(bytes(self._tail[-TAIL_BYTES:]))
        lost = self.total - size - len(tail)
        note = f"\n[{lost} bytes of output were not kept here.]\n"
        with memoryview(self._head) as head:  # it may be large: no copy beside the text
            return str(head[:size], "utf-8", "replace") + note + tail.decode("utf-8", "replace")


def _last_gap(data: bytearray) -> int:
    """Where the word begins that the cut went through; 4 KiB before the end if there is no gap."""
    start = max(0, len(data) - _WORD_BYTES)
    return max(start, *(data.rfind(gap, start) for gap in (b"\n", b" ", b"\t")))


def _from_first_gap(data: bytes) -> bytes:
    end = min(len(data), _WORD_BYTES)
    gaps = [at for at in (data.find(gap, 0, end) for gap in (b"\n", b" ", b"\t")) if at >= 0]
    return data[min(gaps, default=end) :]
