"""Standard input, output and error of a command, whatever they were left in by who started it.

A closed descriptor is claimed before anything else could get its number. An output that cannot
take more is one sentence on standard error; a standard error that cannot is silence.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import Literal, TextIO

from netclaw.core.errors import NetclawError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_UNWRITABLE = (*_FULL, errno.EIO, errno.EBADF, errno.EINVAL, errno.ENXIO)


class OutputLostError(NetclawError):
    """Standard output took no more: what was asked for may have been done, but is not shown."""

    def __init__(self, error: OSError) -> None:
        reason = error.strerror or "unknown reason"
        super().__init__(
            f"The output could not be written: {reason}.",
            fix="Send it to a place that has room."
            if error.errno in _FULL
            else "Send it to a place that can be written.",
        )


def claim_standard_streams() -> None:
    """Make 0, 1 and 2 exist, so that no file or socket of ours is taken for one of them."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    sys.stdin = sys.stdin or _nothing(0, "r")
    sys.stdout = sys.stdout or _nothing(1, "w")
    sys.stderr = sys.stderr or _nothing(2, "w")


def _nothing(number: int, mode: Literal["r", "w"]) -> TextIO:
    return open(number, mode, encoding="utf-8", closefd=False)


def write_out(text: str) -> None:
    """Write on standard output at once.

    Raises `OutputLostError`, and `BrokenPipeError` when the reader left.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up(sys.stdout)
        raise OutputLostError(error) from None


def write_error(text: str) -> None:
    """Write on standard error at once, if it takes anything."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        give_up(sys.stderr)


def flush_out() -> OSError | None:
    """Write out what is left; the error that prevented it, after which nothing is left."""
    try:
        sys.stdout.flush()
    except OSError as error:
        give_up(sys.stdout)
        return error
    return None


def is_output_error(error: OSError) -> bool:
    """Whether an error that names no file is that of an output."""
    return error.filename is None and error.errno in _UNWRITABLE


def give_up(stream: TextIO) -> None:
    """Let what is still buffered go nowhere: at the exit Python would try it once more."""
    with suppress(OSError, ValueError):  # a stream without a descriptor has nothing to redirect
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)
