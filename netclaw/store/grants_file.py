"""The file of stored grants on disk, `<home>/config/tool-approvals.json` (ADR 0042).

People edit it too, so it is never trusted to be what it was: every check looks whether it changed,
every change is made to what it holds right before. It is read strictly; a file that cannot be
believed is left as it is, and nothing stored is granted until somebody mends it. Whoever holds the
home's lock is the only program that writes here.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from netclaw.core.authz import grants_file as form
from netclaw.core.authz.grants import Grant, GrantScope, GrantStore, is_needed
from netclaw.core.errors import (
    ApprovalStoreError,
    InvalidArgumentError,
    NetclawError,
    StorageFullError,
    StorageReadOnlyError,
    TooLargeError,
)
from netclaw.core.path_rules import is_below

NAME = "tool-approvals.json"
BACKUP = ".v2.bak"
QUARANTINE = ".v1.quarantined"
SETTLED_NS = 1_000_000_000
"""A file that changed within this time before it was read may change again unseen."""
TRIES = 20
"""How often a change begins anew because somebody else changed the file meanwhile."""

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_OTHERS_MAY_WRITE = stat.S_IWOTH
_Stamp = tuple[int, ...]
Change = Callable[[tuple[Grant, ...]], tuple[Grant, ...]]
"""Takes the grants there are and returns those there shall be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the file was when it was looked at; `stamp` is None if it was not there."""

    grants: tuple[Grant, ...] = ()
    fault: str | None = None
    version: int | None = None
    data: bytes = b""
    stamp: _Stamp | None = None


def look(path: Path) -> Reading:
    """Read the file as it is, strictly, and change nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Reading()
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        why = "it is a symbolic link" if is_link else f"it cannot be read: {error.strerror}"
        return Reading(fault=why, stamp=())
    try:
        return _read(descriptor)
    except OSError as error:
        return Reading(fault=f"it cannot be read: {error.strerror}", stamp=())
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> Reading:
    facts = os.fstat(descriptor)
    stamp = _stamp(facts)
    fault = _fault_of(facts)
    if fault is not None:
        return Reading(fault=fault, stamp=stamp)
    data = bytearray()
    while len(data) <= form.MAX_BYTES and (part := os.read(descriptor, form.MAX_BYTES + 1)):
        data += part
    if len(data) > form.MAX_BYTES:
        return Reading(fault="it is too large", stamp=stamp)
    return _parsed(bytes(data), stamp)


def _fault_of(facts: os.stat_result) -> str | None:
    if not stat.S_ISREG(facts.st_mode):
        return "it is no ordinary file"
    if facts.st_uid not in (os.geteuid(), 0):
        return "it belongs to another user"
    if facts.st_mode & _OTHERS_MAY_WRITE:
        return "everybody may write it"
    return "it is too large" if facts.st_size > form.MAX_BYTES else None


def _parsed(data: bytes, stamp: _Stamp) -> Reading:
    version: int | None = form.VERSION
    try:
        text = data.decode("utf-8")
        version = form.version_of(text)
        grants = form.read_version_2(text) if version == 2 else form.read(text)
    except UnicodeDecodeError:
        return Reading(fault="it is not UTF-8", data=data, stamp=stamp)
    except form.GrantsFileError as error:
        return Reading(fault=str(error), version=version, data=data, stamp=stamp)
    return Reading(grants=grants, version=version, data=data, stamp=stamp)


def _stamp(facts: os.stat_result) -> _Stamp:
    return (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


def stamp_of(path: Path) -> _Stamp | None:
    """What tells one state of the file from another; None if it is not there."""
    try:
        return _stamp(path.lstat())
    except FileNotFoundError:
        return None
    except OSError:
        return ()


class GrantsFile:
    """One grants file; every method may block on the disk and may be called by any thread."""

    def __init__(self, path: Path, *, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._path = path
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self._known: tuple[_Stamp, GrantStore] | None = None

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._path

    def read(self) -> GrantStore:
        """The grants of this moment; a file that cannot be used says so in `fault`.

        A file of version 2 is migrated by this, one of version 1 is moved aside.
        """
        with self._lock:
            if self._known is not None and self._known[0] == stamp_of(self._path):
                return self._known[1]
            read_at = self._clock_ns()
            reading = self._current()
            store = GrantStore(grants=reading.grants, fault=reading.fault)
            self._known = None
            if reading.stamp and read_at - max(reading.stamp[-2:]) > SETTLED_NS:
                self._known = (reading.stamp, store)
            return store

    def add(self, wanted: Iterable[Grant]) -> tuple[Grant, ...]:
        """Store the grants that add something to those there are; returns these.

        Returns once they are durable. An equal entry keeps its `created_at`. Raises
        `ApprovalStoreError` if the file cannot be used, `InvalidArgumentError` for a grant that
        cannot be written down, and a `StorageError`; then nothing is changed.
        """
        added: list[Grant] = []

        def change(there: tuple[Grant, ...]) -> tuple[Grant, ...]:
            added.clear()
            for grant in wanted:
                if _adds_something(grant, (*there, *added)):
                    added.append(grant)
            return (*there, *added)

        self._change(change)
        return tuple(added)

    def remove(self, choose: Callable[[Sequence[Grant]], tuple[Grant, ...]]) -> tuple[Grant, ...]:
        """Remove what `choose` returns of the grants there are; its error changes nothing."""
        removed: tuple[Grant, ...] = ()

        def change(there: tuple[Grant, ...]) -> tuple[Grant, ...]:
            nonlocal removed
            removed = choose(there)
            return tuple(grant for grant in there if grant not in removed)

        self._change(change)
        return removed

    def _change(self, change: Change) -> None:
        """Change what the file holds right now; begins anew if it changed meanwhile."""
        with self._lock:
            for _ in range(TRIES):
                reading = self._current()
                if reading.fault is not None:
                    raise ApprovalStoreError(f"The grants file cannot be used: {reading.fault}.")
                wanted = change(reading.grants)
                if wanted == reading.grants or self._replace(_text_of(wanted), reading.stamp):
                    return
        raise ApprovalStoreError(
            "The grants file is being changed all the time.", fix="Close what else edits it."
        )

    def _current(self) -> Reading:
        """The file as it is now, brought to the present version."""
        for _ in range(TRIES):
            reading = look(self._path)
            is_broken = reading.version == 2 and reading.fault is not None
            if reading.version not in (1, 2) or is_broken:
                return reading
            try:
                self._retire(reading)
            except NetclawError as error:
                return Reading(fault=f"version {reading.version}: {error.sentence}", stamp=())
        return Reading(fault="it is being changed all the time", stamp=())

    def _retire(self, reading: Reading) -> None:
        """Keep a file of an older version aside, unless it changed meanwhile."""
        if reading.version == 1:
            self._set_aside(reading)
            return
        _keep_copy(self._path, reading.data)
        self._replace(_text_of(reading.grants), reading.stamp)

    def _set_aside(self, reading: Reading) -> None:
        target = _free_name(self._path, QUARANTINE)
        if stamp_of(self._path) != reading.stamp:
            return
        try:
            self._path.rename(target)
            _sync_folder(self._path.parent)
        except OSError as error:
            raise _cannot_write(error) from None

    def _replace(self, text: str, expected: _Stamp | None) -> bool:
        """Put a new file in the place of the one that was read; False if it changed meanwhile."""
        fresh = self._path.with_name(f".{self._path.name}.new")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_private(fresh, text.encode("utf-8"))
            if stamp_of(self._path) != expected:
                fresh.unlink()
                return False
            fresh.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise _cannot_write(error) from None
        return True


def _text_of(grants: tuple[Grant, ...]) -> str:
    """The text of a file; raises if it would not be read back as what it is."""
    text = form.write(grants)
    try:
        is_faithful = sorted(map(repr, form.read(text))) == sorted(map(repr, grants))
        size = len(text.encode("utf-8"))
    except (form.GrantsFileError, UnicodeEncodeError):
        is_faithful, size = False, 0
    if not is_faithful:
        raise InvalidArgumentError("The grant cannot be stored: a part of it is no clean text.")
    if size > form.MAX_BYTES:
        raise TooLargeError(
            "The grants file is full.", fix="Revoke what is not used any more: `netclaw approvals`."
        )
    return text


def _adds_something(grant: Grant, there: tuple[Grant, ...]) -> bool:
    """Whether a grant covers anything that those there are do not.

    A folder never covers what a link below it leads to, so it does not make a grant for such a
    place unneeded.
    """
    return is_needed(grant, [other for other in there if not _leads_elsewhere(other, grant)])


def _leads_elsewhere(wide: Grant, narrow: Grant) -> bool:
    is_folder = wide.scope is narrow.scope is GrantScope.FOLDER
    above, below = wide.directory or "", narrow.directory or ""
    if not is_folder or above == below or not is_below(below, above):
        return False
    rest = below[len(above.rstrip("/")) :]
    real = os.path.realpath(above).rstrip("/") + rest
    return os.path.realpath(below) != real


def _keep_copy(path: Path, data: bytes) -> None:
    """Keep the bytes of a file of version 2, unless a copy of exactly these is there already."""
    first = path.with_name(path.name + BACKUP)
    try:
        if first.is_file() and not first.is_symlink() and first.read_bytes() == data:
            return
        target = _free_name(path, BACKUP)
        _write_private(target, data)
        _sync_folder(path.parent)
    except OSError as error:
        raise _cannot_write(error) from None


def _free_name(path: Path, suffix: str) -> Path:
    target = path.with_name(path.name + suffix)
    number = 1
    while os.path.lexists(target):
        number += 1
        target = path.with_name(f"{path.name}{suffix}.{number}")
    return target


def _write_private(path: Path, data: bytes) -> None:
    """Write a file of our own, durable; a link in its place is replaced, never followed."""
    path.unlink(missing_ok=True)
    descriptor = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cannot_write(error: OSError) -> NetclawError:
    if error.errno in _NO_ROOM:
        return StorageFullError("There is no room to write the grants file.")
    return StorageReadOnlyError(f"The grants file cannot be written: {error.strerror}.")
