"""Says what a failure of SQLite means to people: one `StorageError` for each of them."""

from __future__ import annotations

import errno

import apsw

from netclaw.core.errors import (
    InternalError,
    NetclawError,
    StorageCorruptError,
    StorageFullError,
    StorageReadOnlyError,
    StorageTimeoutError,
)

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
NOT_WRITABLE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_READ_FAULTS = frozenset(
    {
        apsw.SQLITE_IOERR_READ,
        apsw.SQLITE_IOERR_SHORT_READ,
        apsw.SQLITE_IOERR_CORRUPTFS,
        apsw.SQLITE_IOERR_DATA,
    }
)


def full() -> StorageFullError:
    """The disk has no room."""
    return StorageFullError("The disk that holds the netclaw home is full; nothing was written.")


def read_only() -> StorageReadOnlyError:
    """The file or its folder refuses writes."""
    return StorageReadOnlyError("The database of this netclaw home cannot be written.")


def corrupt() -> StorageCorruptError:
    """The file is not what was written."""
    return StorageCorruptError("The database is damaged, or not a database; it was left as it is.")


def from_sqlite(error: apsw.Error, system_errno: int = 0) -> NetclawError:
    """Translate an apsw error; `system_errno` is the connection's, asked right after the failure.

    SQLite reports only ENOSPC as full: a quota or a size limit of the process arrives as a plain
    input/output error.
    """
    if isinstance(error, apsw.FullError):
        return full()
    if isinstance(error, apsw.IOError):
        return _from_io_error(error, system_errno)
    if isinstance(error, (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError)):
        return full() if system_errno in NO_ROOM else read_only()
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return corrupt()
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StorageTimeoutError("Another program holds the database of this netclaw home.")
    return InternalError("The database refused a statement of netclaw.")


def _from_io_error(error: apsw.Error, system_errno: int) -> NetclawError:
    if system_errno in NO_ROOM:
        return full()
    if getattr(error, "extendedresult", 0) in _READ_FAULTS:
        return corrupt()
    return StorageReadOnlyError(
        "The disk that holds the netclaw home fails to write.",
        fix="Check the disk and the system log; the daemon resumes by itself.",
    )


def from_os(error: OSError) -> NetclawError:
    """Translate a failure to make or open a file of the home."""
    if error.errno in NO_ROOM:
        return full()
    return read_only()
