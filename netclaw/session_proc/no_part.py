"""Answers for child runs in a process that has no part to run them.

Fail closed: whatever the journal still holds of them ends, and nothing is started or left open.
"""

from __future__ import annotations

from collections.abc import Callable

from netclaw.core.session.child_commands import EndChild
from netclaw.core.session.child_effects import ChildEffect, StartChild, WatchChild
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.commands import SessionCommand

UNAVAILABLE = "unavailable"
"""The reason of a run that ends because nothing here can run it."""


class NoPart:
    """Stands where the part for child runs goes."""

    def __init__(
        self, post: Callable[[SessionCommand], None], log: Callable[[str, str], None]
    ) -> None:
        self._post = post
        self._log = log

    def perform(self, effect: ChildEffect) -> None:
        """End what would be started; nobody waits for the answer to anything else."""
        match effect:
            case StartChild() | WatchChild():
                self._post(
                    EndChild(
                        run_id=effect.run_id,
                        start=effect.start,
                        state=ChildState.FAILED,
                        reason=UNAVAILABLE,
                    )
                )
            case _:
                self._log("warning", f"nothing here can do {type(effect).__name__}")
