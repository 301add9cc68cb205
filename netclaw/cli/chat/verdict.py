"""What a headless run came to: its error, if there is one, and its exit code (decisions 23, 71)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netclaw.cli.failure import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OK
from netclaw.core.errors import CATEGORY_CODES, ERROR_CLASSES, ErrorCategory, NetclawError

if TYPE_CHECKING:
    from netclaw.cli.chat.turns import Failure, Turn

INTERRUPTED = ErrorCategory.INTERRUPTED.value
STOPPED = "The turn was stopped before it was finished."
UNATTENDED = "approval_required_unattended"
"""Stands in the result of a call that was denied because nobody can give consent."""


def failure_of(turn: Turn, told: str) -> Failure | None:
    """Why the last turn gave no answer; None if it is complete.

    A turn that the loop guard ended is complete: the person is shown no error (S0). `told` is the
    sentence of a stop notice, which is all that is said of a turn that a drain ended.
    """
    from netclaw.cli.chat.turns import Failure

    if turn.outcome == "stopped":
        return Failure(INTERRUPTED, STOPPED, "")
    if turn.outcome == "failed":
        return turn.failure or Failure(INTERRUPTED, told or STOPPED, "")
    return None


def as_error(failure: Failure) -> NetclawError:
    """A failed turn as an error with the stable code of its category."""
    try:
        code = CATEGORY_CODES[ErrorCategory(failure.category)]
        return ERROR_CLASSES[code](failure.sentence, reference=failure.reference)
    except (ValueError, KeyError, TypeError):
        return NetclawError(failure.sentence, reference=failure.reference)


def exit_code(failure: Failure | None, *, is_interrupted: bool) -> int:
    """0: answered; 1: failed; 130: ended by the Ctrl-C of this terminal."""
    if failure is None:
        return EXIT_OK
    is_ours = is_interrupted and failure.category == INTERRUPTED
    return EXIT_INTERRUPTED if is_ours else EXIT_FAILURE
