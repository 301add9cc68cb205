"""What the exit status of an adapter process means to the daemon that keeps it."""

from __future__ import annotations

from enum import IntEnum


class AdapterExit(IntEnum):
    """Why the process ended. Other statuses are the interpreter's: a crash."""

    STOPPED = 0
    """It was told to, or its daemon is gone."""
    TRANSIENT = 75
    """It may work later."""
    FATAL = 78
    """Starting again cannot help before the configuration changes."""
