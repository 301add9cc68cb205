"""Looks into archives without unpacking them anywhere: how much they hold and where it would go.

An archive is a program that writes files. What is refused here are those that write too much (a
few kilobytes can stand for gigabytes, one archive for many inside it), those that write outside
their folder, and those that cannot be looked into, which may do either.
"""

from __future__ import annotations

import bz2
import errno
import lzma
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

PIECE = 64 * 1024
HEAD = 512
DECODER_MEMORY = 64 * 1024 * 1024
TAR_HEADER_BYTES = 1024 * 1024
ZIP_DIRECTORY_BYTES = 2 * 1024 * 1024
"""What a directory of 10,000 entries needs, generously: it is read as a whole."""
_ZIP_END = struct.Struct("<4s4H2LH")
_ZIP_COMMENT = 65_535


class Fault(StrEnum):
    """What is wrong with an archive."""

    TOO_MUCH = "archive_too_large"
    LEADS_OUT = "archive_leads_out"
    OPAQUE = "archive_opaque"


class RefusedArchiveError(Exception):
    """An archive that nobody should unpack."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an archive may hold, the archives inside it included."""

    unpacked_bytes: int = 256 * 1024 * 1024
    entries: int = 10_000
    depth: int = 2
    """Archives inside each other, the outermost not counted."""
    ratio: int = 200
    """Unpacked to packed, beyond `ratio_free_bytes`."""
    ratio_free_bytes: int = 16 * 1024 * 1024


class _Budget:
    """What is left of the limits while one file is looked into."""

    def __init__(self, limits: Limits, packed_bytes: int) -> None:
        most = max(limits.ratio_free_bytes, packed_bytes * limits.ratio)
        self._bytes = min(limits.unpacked_bytes, most)
        self._entries = limits.entries
        self.depth = limits.depth

    def take(self, size: int) -> None:
        self._bytes -= size
        if self._bytes < 0:
            raise RefusedArchiveError(Fault.TOO_MUCH)

    def enter(self) -> None:
        self._entries -= 1
        if self._entries < 0:
            raise RefusedArchiveError(Fault.TOO_MUCH)


class _Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Reader:
    """Reads a stream once, with a look at its beginning."""

    def __init__(self, source: _Source, budget: _Budget | None) -> None:
        """With a budget: what is read was unpacked and counts."""
        self._source = source
        self._budget = budget
        self._ahead = b""

    def peek(self) -> bytes:
        """The first bytes, which stay to be read."""
        while len(self._ahead) < HEAD and (data := self._fetch(HEAD - len(self._ahead))):
            self._ahead += data
        return self._ahead

    def read(self, size: int) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead[:size], self._ahead[size:]
            return data
        return self._fetch(size)

    def _fetch(self, size: int) -> bytes:
        data = self._source.read(size)
        if self._budget is not None:
            self._budget.take(len(data))
        return data


def look_into(path: Path, limits: Limits) -> None:
    """Look at a file, deep if it is an archive; raises `RefusedArchiveError` or `OSError`."""
    budget = _Budget(limits, path.stat().st_size)
    with path.open("rb") as file:
        if _kind(file.read(HEAD)) is _look_at_zip:
            _guarded(lambda: _zip(file, path.parent, budget, 0))
            return
        file.seek(0)
        _guarded(lambda: _look(_Reader(file, None), path.parent, budget, 0))


_BROKEN = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError),
    *(ValueError, IndexError, struct.error, NotImplementedError, RuntimeError, KeyError),
)
"""What the decoders raise for what they cannot read: broken, encrypted, of another method."""


def _guarded(look: Callable[[], None]) -> None:
    try:
        look()
    except _BROKEN:
        raise RefusedArchiveError(Fault.OPAQUE) from None
    except OSError as error:
        # bz2 says without a number that its data is broken; a false offset in a zip is EINVAL.
        if error.errno not in (None, errno.EINVAL):
            raise
        raise RefusedArchiveError(Fault.OPAQUE) from None


_Look = Callable[[_Reader, Path, _Budget, int], None]


def _look(stream: _Reader, folder: Path, budget: _Budget, depth: int) -> None:
    """Read a stream to its end; whatever is in it counts."""
    look = _kind(stream.peek())
    if look is None:
        _drain(stream)
        return
    if depth > budget.depth:
        raise RefusedArchiveError(Fault.TOO_MUCH)
    look(stream, folder, budget, depth)


def _kind(head: bytes) -> _Look | None:
    """How to look into what begins so; None for what is no archive."""
    for mark, look in _KINDS:
        if head.startswith(mark):
            return look
    return _look_at_tar if head[257:262] == b"ustar" else None


def _drain(stream: _Source) -> None:
    while stream.read(PIECE):
        pass


# Compressed streams ---------------------------------------------------------------------------


class _Decoder(Protocol):
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def needs_input(self) -> bool: ...


class _Gzip:
    """zlib in the manners of the other decoders."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._decoder.unconsumed_tail


class _Unpacked:
    """What a compressed stream holds; several behind each other are one."""

    def __init__(self, stream: _Reader, make: Callable[[], _Decoder]) -> None:
        self._stream = stream
        self._make = make
        self._decoder = make()

    def read(self, size: int) -> bytes:
        while True:
            if self._decoder.eof:
                rest = self._decoder.unused_data or self._stream.read(PIECE)
                if not rest.strip(b"\0"):
                    return b""
                self._decoder, data = self._make(), rest
            elif self._decoder.needs_input:
                data = self._stream.read(PIECE)
                if not data:
                    raise EOFError
            else:
                data = b""
            if out := self._decoder.decompress(data, max_length=min(size, PIECE)):
                return out


def _compressed(make: Callable[[], _Decoder]) -> _Look:
    def look(stream: _Reader, folder: Path, budget: _Budget, depth: int) -> None:
        inner = _Reader(_Unpacked(stream, make), budget)
        is_tar = _kind(inner.peek()) is _look_at_tar
        _look(inner, folder, budget, depth if is_tar else depth + 1)

    return look


def _opaque(_stream: _Reader, _folder: Path, _budget: _Budget, _depth: int) -> None:
    raise RefusedArchiveError(Fault.OPAQUE)


# Zip ------------------------------------------------------------------------------------------


def _look_at_zip(stream: _Reader, folder: Path, budget: _Budget, depth: int) -> None:
    """One inside another archive: it can only be read from its end."""
    with tempfile.TemporaryFile(dir=folder) as file:
        while data := stream.read(PIECE):
            file.write(data)
        _zip(file, folder, budget, depth)


def _zip(file: BinaryIO, folder: Path, budget: _Budget, depth: int) -> None:
    _check_directory(file)
    with zipfile.ZipFile(file) as found:
        for entry in found.infolist():
            budget.enter()
            _check_name(entry.orig_filename)
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise RefusedArchiveError(Fault.LEADS_OUT)
            if not entry.is_dir():
                with found.open(entry) as data:
                    _look(_Reader(data, budget), folder, budget, depth + 1)


def _check_directory(file: BinaryIO) -> None:
    """Refuse a directory too large to read; a larger form of it exists and is not needed."""
    size = file.seek(0, 2)
    tail_at = max(size - _ZIP_COMMENT - _ZIP_END.size, 0)
    file.seek(tail_at)
    tail = file.read()
    at = len(tail) - _ZIP_END.size
    if not (tail[at : at + 4] == b"PK\5\6" and tail.endswith(b"\0\0")):
        at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < _ZIP_END.size:
        raise RefusedArchiveError(Fault.OPAQUE)
    directory_bytes = _ZIP_END.unpack_from(tail, at)[5]
    if directory_bytes > ZIP_DIRECTORY_BYTES or tail[max(at - 20, 0) : at].startswith(b"PK\6\7"):
        raise RefusedArchiveError(Fault.TOO_MUCH)


# Tar ------------------------------------------------------------------------------------------


class _TarMember(tarfile.TarInfo):
    """Refuses extended headers that are read into memory as a whole and are too large for it."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type not in _PLAIN_TYPES and self.size > TAR_HEADER_BYTES:
            raise RefusedArchiveError(Fault.TOO_MUCH)
        member: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return member


_PLAIN_TYPES = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE, tarfile.DIRTYPE})


def _look_at_tar(stream: _Reader, folder: Path, budget: _Budget, depth: int) -> None:
    with closing(
        tarfile.open(fileobj=stream, mode="r|", tarinfo=_TarMember)  # type: ignore[call-overload]
    ) as found:
        for member in _members(found, budget):
            if member.isfile():
                data = found.extractfile(member)
                if data is not None:
                    _look(_Reader(data, None), folder, budget, depth + 1)
    _drain(stream)


def _members(found: tarfile.TarFile, budget: _Budget) -> Iterator[tarfile.TarInfo]:
    for member in found:
        budget.enter()
        _check_name(member.name)
        if member.issym() or member.islnk():
            base = PurePosixPath(member.name).parent if member.issym() else PurePosixPath()
            _check_name(str(base / member.linkname))
        elif not (member.isfile() or member.isdir()):
            raise RefusedArchiveError(Fault.LEADS_OUT)
        yield member
        found.members = []  # type: ignore[attr-defined]  # not kept: there may be many


def _check_name(name: str) -> None:
    """Refuse what would be written outside the folder that it is unpacked in."""
    parts = name.replace("\\", "/").split("/")
    level = 0
    for part in parts:
        level += -1 if part == ".." else int(part not in ("", "."))
        if level < 0:
            raise RefusedArchiveError(Fault.LEADS_OUT)
    if not parts[0] or parts[0][1:2] == ":" or "\0" in name:
        raise RefusedArchiveError(Fault.LEADS_OUT)


_KINDS: tuple[tuple[bytes, _Look], ...] = (
    (b"PK\3\4", _look_at_zip),
    (b"PK\5\6", _look_at_zip),
    (b"\x1f\x8b", _compressed(_Gzip)),
    (b"BZh", _compressed(bz2.BZ2Decompressor)),
    (b"\xfd7zXZ\0", _compressed(lambda: lzma.LZMADecompressor(memlimit=DECODER_MEMORY))),
    (b"\x28\xb5\x2f\xfd", _opaque),
    (b"7z\xbc\xaf\x27\x1c", _opaque),
    (b"Rar!\x1a\x07", _opaque),
)
"""How archives begin. A zip that begins otherwise, behind a program, is no archive by its kind."""
