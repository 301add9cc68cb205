"""Splits a server-sent event stream into events, however the bytes were cut on the way.

Sans I/O: bytes in, events out. Only the `data` field matters to model streams; comments and
events with empty data are keepalives. All line ends of the format (LF, CR, CRLF) are understood.
Nothing is copied twice while a long line arrives, and a line or event over its limit is refused
before it can fill memory.
"""

from __future__ import annotations

from typing import Final

KEEPALIVE: Final = b""
"""Stands in a list of events for a comment or an event without data."""

MAX_EVENT_BYTES = 16 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class SseOverflowError(Exception):
    """A line or an event of the stream is larger than the limit."""


class SseDecoder:
    """One stream. `feed` what arrived, then `finish` once if it ended politely."""

    __slots__ = (
        "_data",
        "_data_bytes",
        "_is_first",
        "_is_lf_due",
        "_max_bytes",
        "_parts",
        "_parts_bytes",
    )

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_event_bytes
        self._parts: list[bytes] = []
        """The line that has no end yet, as it arrived."""
        self._parts_bytes = 0
        self._data: list[bytes] = []
        """The data lines of the event that has no end yet."""
        self._data_bytes = 0
        self._is_first = True
        self._is_lf_due = False
        """The last byte was a CR: a LF that follows belongs to it."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of each event that `chunk` completes, in order; `KEEPALIVE` for a sign of life.

        Raises `SseOverflowError`.
        """
        if self._is_lf_due and chunk:
            self._is_lf_due = False
            if chunk[0] == 0x0A:
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._is_lf_due = chunk[-1] == 0x0D
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts.clear()
            self._parts_bytes = 0
        if rest:
            self._parts.append(rest)
            self._parts_bytes += len(rest)
            self._check(self._parts_bytes)
        return self._events(lines) if lines else []

    def finish(self) -> list[bytes]:
        """What is left at the end of the stream: many servers omit the last blank line."""
        line = b"".join(self._parts)
        self._parts.clear()
        return self._events([line, b""])

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        data = self._data
        if self._is_first:
            self._is_first = False
            lines[0] = lines[0].removeprefix(_BOM)
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
                self._data_bytes += len(line)
                self._check(self._data_bytes)
            elif not line:
                if data:
                    events.append(data[0] if len(data) == 1 else b"\n".join(data))
                    data.clear()
                    self._data_bytes = 0
            elif line[0] == 0x3A:
                events.append(KEEPALIVE)
            elif line == b"data":
                data.append(b"")
                self._data_bytes += 1
                self._check(self._data_bytes)
        return events

    def _check(self, size: int) -> None:
        if size > self._max_bytes:
            raise SseOverflowError(f"an event of the stream is over {self._max_bytes} bytes")
