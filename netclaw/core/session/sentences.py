"""Every sentence the session rules say, to people and to the model, in one place."""

from __future__ import annotations

MAYBE_RUN = "Some actions may already have run."
"""Said only when a tool batch was launched (protocol "Recovery, exactly")."""

INTERRUPTED_TURN = "The work on this message was interrupted before it was finished."
POISON_TURN = "This message made the session crash repeatedly, so it was given up."
CUT_AT_LIMIT = "The model's reply was cut off at its output limit, so nothing of it was kept."
FILTERED = "The model's service held the reply back with its content filter."
EMPTY_REPLY = "The model answered with nothing, also when it was asked again."
UNOFFERED_CALLS = "The model asked for tools although none were offered."

CALL_INTERRUPTED = (
    "Interrupted: this call was started, and the process ended before its result was known."
    " It may have taken effect. It was not run again."
)
CALL_NOT_STARTED = "Cancelled: this call was never started."
CALL_MISSING = "No result of this call is known."

NUDGE_EMPTY = (
    "[netclaw] Your last reply was empty. Answer the message above, or call a tool if you need one."
)
NUDGE_THINKING = (
    "[netclaw] Your last reply held only reasoning. Write the answer itself, or call a tool."
)

NOTE_STOPPED = "[netclaw] The person stopped this turn before it was finished."
NOTE_PREEMPTED = (
    "[netclaw] The automated turn above stopped unfinished, because a person wrote. Its remaining"
    " steps were not run."
)


def with_warning(sentence: str, *, has_launched: bool) -> str:
    """Add the warning about actions if a batch of the turn was launched."""
    return f"{sentence} {MAYBE_RUN}" if has_launched else sentence


def failed_note(category: str) -> str:
    """The line the model finds after a failed turn, so that its history stays honest."""
    return f"[netclaw] The turn above ended without an answer ({category})."


def stop_notice(*, is_restart: bool, has_launched: bool) -> str:
    """What a person is told when a drain stops their turn for good (S0 "Recovery and restart")."""
    word = "restarting" if is_restart else "stopping"
    sentence = f"netclaw is {word}; the work on this message was stopped before it was finished."
    return with_warning(sentence, has_launched=has_launched)


def bad_arguments(fault: str) -> str:
    """The result of a call whose arguments cannot be used; its tool was not run."""
    return f"Invalid arguments: {fault} The tool was not run."
