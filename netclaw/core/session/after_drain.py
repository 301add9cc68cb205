"""What comes after a session drained: the one thing that decides what becomes of its open turn."""

from __future__ import annotations

from enum import StrEnum


class AfterDrain(StrEnum):
    """Who takes up what a drain leaves; the values are words of the internal protocol."""

    DAEMON_RESTART = "daemon-restart"
    """The next generation of the daemon starts whatever has runnable work."""
    DAEMON_STOP = "daemon-stop"
    """The next start of the daemon does, whenever that is."""
    SESSION_RESTART = "session-restart"
    """A new process follows at once."""
    NOTHING = "nothing"
    """Nobody: the session rests until something new arrives or an operator restarts it."""

    PARENT_STOP = "parent-stop"
    """The next start of the session that asked for this run does, whenever that is."""

    @property
    def is_restart(self) -> bool:
        """Whether a start follows by itself and at once."""
        return self in (AfterDrain.DAEMON_RESTART, AfterDrain.SESSION_RESTART)
