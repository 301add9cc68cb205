"""What the exit status of a session process means to the supervisor that restarts it.

Status 1 and 2 are left to the interpreter, so that a process that never came to run its session
is not mistaken for one that ended on purpose.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a session process ended by itself; a signal or another number is a crash."""

    PASSIVATED = 0
    """On purpose: its Passivated is committed, or it was drained."""
    STREAM_LOST = 70
    """The supervisor or the stream to it has gone."""
    INTERNAL = 71
    """A fault of netclaw; the stack was reported and is in the session log."""
    STORAGE = 74
    """An append failed for good; no crash, and no start until a probe write succeeds."""
    MEMORY = 75
    """It passed its own memory ceiling."""
    FENCED = 77
    """A newer incarnation owns the session, or its token was refused."""

    @property
    def is_crash(self) -> bool:
        """Whether the restart and poison rules count this end (decision 5)."""
        return self in (ExitCode.INTERNAL, ExitCode.MEMORY)
