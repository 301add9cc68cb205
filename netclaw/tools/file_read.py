"""`file_read`: a window of lines of a text file, with their numbers."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from netclaw.core.tool_call import FileActivity, FileOperation
from netclaw.tools.faults import ToolFault
from netclaw.tools.files import locate, opened_file
from netclaw.tools.reach import Located, Reach, reach_for
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.text import encoding_of, kind_of
from netclaw.tools.tool import EVERYONE, Outcome, Scope

DEFAULT_LINES = 400
MAX_LINES = 2000
MAX_LINE_CHARS = 2000
SCAN_BYTES = 64 * 1024 * 1024
"""A window further into a file than this is not looked for."""
_CHUNK = 256 * 1024
_HEADER_CHARS = 400

Reader = Callable[[int], bytes]


@dataclass(slots=True, kw_only=True)
class _Window:
    """Collects numbered lines until the window or the room is full."""

    first: int
    count: int
    room: int
    lines: list[str] = field(default_factory=list)
    seen: int = 0
    is_full: bool = False

    def add(self, line: str) -> None:
        self.seen += 1
        if self.seen < self.first or self.is_full:
            return
        if len(self.lines) == self.count:
            self.is_full = True
            return
        if len(line) > MAX_LINE_CHARS:
            line = f"{line[:MAX_LINE_CHARS]} [{len(line) - MAX_LINE_CHARS} characters more]"
        shown = f"{self.seen}\t{line}"
        self.room -= len(shown) + 1
        if self.room < 0 and self.lines:
            self.is_full = True
            return
        self.lines.append(shown)


class FileRead:
    """Reads only as far as the window reaches, in a thread."""

    name = "file_read"
    description = (
        "Reads a text file and returns its lines with their numbers. Long files are read in "
        "windows: give start_line to go on."
    )
    audiences = EVERYONE
    fields: tuple[Field, ...] = (
        Field(
            name="path",
            kind=Kind.STRING,
            description="The file; relative to the project directory, else the session's.",
            is_required=True,
        ),
        Field(
            name="start_line",
            kind=Kind.INTEGER,
            description="First line to return, counted from 1.",
            minimum=1,
        ),
        Field(
            name="line_count",
            kind=Kind.INTEGER,
            description=f"How many lines to return, {DEFAULT_LINES} if absent.",
            minimum=1,
            maximum=MAX_LINES,
        ),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        reach = await asyncio.to_thread(reach_for, scope)
        located = await asyncio.to_thread(locate, reach, arguments.text("path"), FileOperation.READ)
        window = _Window(
            first=arguments.whole("start_line", 1),
            count=arguments.whole("line_count", DEFAULT_LINES),
            room=scope.context.max_inline_chars - _HEADER_CHARS - len(located.path),
        )
        text = await asyncio.to_thread(_read, reach, located, window)
        activity = FileActivity(path=located.path, operation=FileOperation.READ)
        return Outcome(text=text, activity=(activity,))


def _read(reach: Reach, located: Located, window: _Window) -> str:
    with opened_file(reach, located) as fd:
        size = os.fstat(fd).st_size
        with open(os.dup(fd), "rb", buffering=0) as file:
            start = file.read(_CHUNK)
            encoding = encoding_of(start)
            if encoding is None:
                raise ToolFault.invalid(
                    f"{located.path} is {kind_of(start)} of {size} bytes, not text."
                )
            is_whole = _collect(file.read, start, encoding, window)
    return _worded(located, window, size, is_whole=is_whole)


def _collect(read: Reader, start: bytes, encoding: str, window: _Window) -> bool:
    """Feeds lines until the end, the end of the window, or the scan limit; True at the end."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    rest, chunk, scanned = "", start, 0
    while chunk:
        scanned += len(chunk)
        *lines, rest = (rest + decoder.decode(chunk)).split("\n")
        for line in lines:
            window.add(line.removesuffix("\r"))
        if window.is_full or scanned > SCAN_BYTES:
            return False
        if len(rest) > _CHUNK and window.seen + 1 < window.first:
            rest = rest[:MAX_LINE_CHARS]  # a line before the window: only its end matters
        chunk = read(_CHUNK)
    rest += decoder.decode(b"", final=True)
    if rest:
        window.add(rest.removesuffix("\r"))
    return not window.is_full


def _worded(located: Located, window: _Window, size: int, *, is_whole: bool) -> str:
    if not size:
        return f"{located.path} is empty."
    if not window.lines:
        if is_whole:
            raise ToolFault.invalid(f"{located.path} has only {window.seen} lines.")
        raise ToolFault.invalid(f"{located.path} is too large to find that line in.")
    last = window.first + len(window.lines) - 1
    total = f" of {window.seen}" if is_whole else ""
    head = f"{located.path}, {size} bytes, lines {window.first} to {last}{total}:"
    tail = "" if is_whole else f"\n[More follows: go on with start_line {last + 1}.]"
    return "\n".join([head, *window.lines]) + tail
