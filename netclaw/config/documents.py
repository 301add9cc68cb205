"""Reads and writes the configuration's files: whole, private where they must be, never half."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from netclaw.config.home import PRIVATE_FILE, Home, make_private_folder
from netclaw.config.jsonc_tree import Json, JsoncError, Node, parse, plain
from netclaw.core.errors import InvalidArgumentError, StorageFullError, StorageReadOnlyError

MAX_FILE_BYTES = 4 * 1024 * 1024
BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Document:
    """One file as it is: its text (without byte order mark), its tree, its plain value."""

    path: Path
    text: str
    tree: Node
    value: dict[str, Json]


def read_document(path: Path) -> Document | None:
    """The file's document, None if there is no such file.

    Raises `InvalidArgumentError` in one sentence with line and column when it is malformed.
    """
    text = _read_text(path)
    return None if text is None else parse_document(path, text)


def read_list(path: Path) -> list[Json] | None:
    """The entries of a file that holds one list, None if there is no such file.

    A file without any text is an empty list. Raises `InvalidArgumentError` as `read_document`.
    """
    text = _read_text(path)
    if text is None or not text.strip():
        return None if text is None else []
    value = plain(_parsed(path, text))
    if not isinstance(value, list):
        raise InvalidArgumentError(f"{path} must hold one list in square brackets.")
    return value


def _read_text(path: Path) -> str | None:
    try:
        raw = read_regular(path, MAX_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidArgumentError(
            f"{path} cannot be read: {error.strerror}.",
            fix="Make it a file that the user who runs netclaw may read.",
        ) from None
    if len(raw) > MAX_FILE_BYTES:
        raise InvalidArgumentError(f"{path} is larger than {MAX_FILE_BYTES} bytes.")
    return _decode(path, raw)


def read_regular(path: Path, limit: int) -> bytes:
    """At most `limit` bytes (-1: all) of a regular file.

    Raises `OSError` when it cannot be read, `InvalidArgumentError` when it is something else:
    opening a pipe would wait for a writer, and reading a device might never end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InvalidArgumentError(
                f"{path} is no regular file.", fix="Move it away, or put a file in its place."
            )
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(descriptor)


def _decode(path: Path, raw: bytes) -> str:
    try:
        return raw.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InvalidArgumentError(
            f"{path} is not valid UTF-8 in line {line}.", fix="Save the file as UTF-8."
        ) from None


def parse_document(path: Path, text: str) -> Document:
    """A document from text; an empty one counts as `{}`."""
    if not text.strip():
        text = "{}\n"
    tree = _parsed(path, text)
    value = plain(tree)
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"{path} must hold one object in curly brackets.")
    return Document(path, text, tree, value)


def _parsed(path: Path, text: str) -> Node:
    try:
        return parse(text)
    except JsoncError as error:
        raise InvalidArgumentError(
            f"{path} is malformed at {error}.",
            fix=f"Correct line {error.line}; comments and trailing commas are allowed.",
        ) from None


def pretty(value: Json) -> str:
    """A document as netclaw writes it."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_private(path: Path, data: bytes) -> None:
    """Replace a file in one step; its mode is 0600, and after a crash it is old or new.

    A link at `path` is followed, so that a configuration kept elsewhere stays there.
    Raises `StorageFullError` or `StorageReadOnlyError`; the old file is then untouched.
    """
    target = Path(os.path.realpath(path))
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), PRIVATE_FILE)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)  # noqa: PTH105
        _sync_folder(target.parent)
    except OSError as error:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
        if error.errno in (28, 122):  # ENOSPC, EDQUOT
            raise StorageFullError(f"There is no room to write {target}.") from None
        raise StorageReadOnlyError(f"{target} cannot be written: {error.strerror}.") from None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_held = threading.local()
"""Folders this thread is editing, because a lock of our own would keep us out as well."""


@contextmanager
def editing(home: Home) -> Iterator[None]:
    """Exclude other writers of this home's configuration while a change is made; may nest."""
    held: set[Path] = _held.__dict__.setdefault("folders", set())
    if home.config_dir in held:
        yield
        return
    with _locked(home):
        held.add(home.config_dir)
        try:
            yield
        finally:
            held.discard(home.config_dir)


@contextmanager
def _locked(home: Home) -> Iterator[None]:
    make_private_folder(home.config_dir)
    path = home.config_dir / ".lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    except OSError as error:
        raise StorageReadOnlyError(
            f"{home.config_dir} cannot be written: {error.strerror}."
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
