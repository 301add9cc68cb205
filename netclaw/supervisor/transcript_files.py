"""Opens and reads the transcripts of other programs, as files of the operator's own.

Everything here waits for a disk, so it runs in a thread. A file is opened without following a link
and judged by what was opened, so nothing can be put in its place in between.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from netclaw.core.credential_places import PLACES
from netclaw.core.errors import (
    DeniedByPolicyError,
    InvalidArgumentError,
    NotFoundError,
    TooLargeError,
)
from netclaw.core.path_rules import is_below_any
from netclaw.core.signals.adopted_history import AdoptedHistory, newest_messages
from netclaw.core.signals.transcripts import Catalog, Line, detect_catalog, parse_object, read_line
from netclaw.core.signals.upstream import CHUNK_BYTES, FileFacts, UpstreamSource
from netclaw.linux.magic_links import passes_magic_link
from netclaw.linux.user_homes import user_homes
from netclaw.sandbox.homes import home_around

FILE_BYTES = 256 * 1024 * 1024
"""Size of a transcript that can be adopted."""
ROW_BYTES = 16 * 1024 * 1024
"""Length of one of its rows: pictures lie in them as text."""
DETECTED_ROWS = 500
"""Rows by which the format must be clear."""
_TRANSCRIPTS = ".claude/projects"
"""Below a user's home: a credential folder holds it, but what lies in it are transcripts."""
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OF_THE_KERNEL = ("/proc", "/sys", "/dev")


class LeftError(Exception):
    """A reading ended early; it is told to nobody, because nobody waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A transcript as it was read; `end` is where the next row begins."""

    source: UpstreamSource
    facts: FileFacts
    end: int
    history: AdoptedHistory


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What a followed file holds from an offset on, and the file's facts before the reading."""

    facts: FileFacts
    data: bytes


def read_transcript(path: str, is_left: Callable[[], bool] = lambda: False) -> Transcript:
    """Read a whole transcript for its adoption, in memory of a bounded size.

    Ends with an `LeftError` at the next piece once `is_left`: nobody waits for it.
    Raises `NotFoundError`, `DeniedByPolicyError`, `TooLargeError` or `InvalidArgumentError`, each
    with what is wrong and how to mend it.
    """
    try:
        real = _resolve(path)
        with _opened(real) as (fd, facts):
            if facts.size > FILE_BYTES:
                raise TooLargeError(
                    f"The transcript has {facts.size} bytes; at most {FILE_BYTES} are read.",
                    fix="Adopt a file that holds its newest part alone.",
                )
            rows = _Rows(fd, facts.size, is_left)
            catalog = _catalog_of(path, _Rows(fd, facts.size, is_left))
            history = newest_messages(_lines(catalog, rows))
    except FileNotFoundError:
        raise _no_file(path) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    if not history.messages:
        raise InvalidArgumentError(
            f"{path} holds no message of a person or a model.",
            fix="Adopt it once something was said in it.",
        )
    source = UpstreamSource(catalog=catalog, path=real)
    return Transcript(source=source, facts=facts, end=rows.end, history=history)


def read_piece(path: str, offset: int) -> Piece:
    """Read on in a followed file, at most `CHUNK_BYTES`.

    Raises `FileNotFoundError` only if the file is definitely gone, any other `OSError` if that
    cannot be known.
    """
    with _opened(path) as (fd, facts):
        wanted = min(CHUNK_BYTES, max(facts.size - offset, 0))
        return Piece(facts=facts, data=os.pread(fd, wanted, offset) if wanted else b"")


def _resolve(path: str) -> str:
    """The real path of a file that may be adopted; raises `OSError` for a link nobody can read."""
    if not path.startswith("/") or "\0" in path:
        raise InvalidArgumentError("The path of a transcript must be absolute.")
    real = os.path.realpath(path)
    if passes_magic_link(path) or is_below_any(real, _OF_THE_KERNEL):
        raise DeniedByPolicyError(
            f"{path} does not name a file on a disk.", fix="Name the transcript by its own path."
        )
    if home_around(real) is not None:
        raise DeniedByPolicyError(
            f"{path} lies in a netclaw home.", fix="Copy the transcript to another folder."
        )
    if real != os.path.normpath(path) and _is_credential(real):
        raise DeniedByPolicyError(
            f"{path} is a link to where credentials are kept.",
            fix="Name the transcript by its own path.",
        )
    try:
        real.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError("The path of a transcript must be valid UTF-8.") from None
    return real


def _is_credential(real: str) -> bool:
    homes = user_homes()
    if is_below_any(real, [f"{home}/{_TRANSCRIPTS}" for home in homes]):
        return False
    places = [os.path.realpath(f"{home}/{place}") for home in homes for place in PLACES]
    return is_below_any(real, places)


@contextmanager
def _opened(real: str) -> Iterator[tuple[int, FileFacts]]:
    fd = os.open(real, _FLAGS)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if str(Path(f"/proc/self/fd/{fd}").readlink()) != real:
            raise OSError(errno.ELOOP, "a link leads elsewhere now")
        yield (
            fd,
            FileFacts(
                size=found.st_size,
                device=found.st_dev,
                inode=found.st_ino,
                modified_at=found.st_mtime_ns // 1_000_000,
            ),
        )
    finally:
        os.close(fd)


class _Rows:
    """The complete rows of a file up to a size, read once; `end` is behind the last of them.

    A last row without its newline counts if it is a whole object: not every program ends a file
    with one. Otherwise it is still being written, and comes after the adoption.
    """

    def __init__(self, fd: int, size: int, is_left: Callable[[], bool]) -> None:
        self._fd = fd
        self._size = size
        self._is_left = is_left
        self.end = 0
        self.number = 0
        """Of the row that was read last, from 1."""

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        place = 0
        while place < self._size:
            if self._is_left():
                raise LeftError
            data = os.pread(self._fd, min(CHUNK_BYTES, self._size - place), place)
            if not data:
                break  # cut while it was read
            place += len(data)
            *rows, rest = (rest + data).split(b"\n")
            for row in rows:
                self.end += len(row) + 1
                self.number += 1
                yield row
            if len(rest) > ROW_BYTES:
                raise TooLargeError(
                    f"Row {self.number + 1} of the transcript has more than {ROW_BYTES} bytes.",
                    fix="Remove that row from a copy of the file, and adopt the copy.",
                )
        if rest and parse_object(rest) is not None:
            self.end += len(rest)
            self.number += 1
            yield rest


def _catalog_of(path: str, rows: _Rows) -> Catalog:
    """The format, by the first rows."""
    first = [row for row in islice(rows, DETECTED_ROWS) if row.strip()]
    if not first:
        raise InvalidArgumentError(
            f"{path} is empty, or has no complete row.",
            fix="Adopt it once something was said in it.",
        )
    if any(b"\0" in row for row in first):
        raise InvalidArgumentError(
            f"{path} is a binary file.", fix="A transcript is a text of JSON objects, one a line."
        )
    catalog = detect_catalog(found for row in first if (found := parse_object(row)) is not None)
    if catalog is None:
        raise InvalidArgumentError(
            f"{path} is no transcript that netclaw knows.",
            fix="One JSON object a line, with `role` and `text` or `content`; or a session file of"
            " Claude Code.",
        )
    return catalog


def _lines(catalog: Catalog, rows: _Rows) -> Iterator[Line]:
    for row in rows:
        if not row.strip():
            continue
        line = read_line(catalog, row)
        if line is None:
            raise InvalidArgumentError(
                f"Row {rows.number} of the transcript is not a JSON object.",
                fix="Mend or remove that row in a copy of the file, and adopt the copy.",
            )
        yield line


def _no_file(path: str) -> NotFoundError:
    return NotFoundError(f"There is no file {path}.", fix="Check the path.")


def _unreadable(path: str, error: OSError) -> InvalidArgumentError:
    reason = error.strerror or "an error of the disk"
    return InvalidArgumentError(
        f"{path} cannot be read: {reason}.",
        fix="Name a regular file that the user who runs the daemon can read.",
    )
