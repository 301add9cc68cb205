"""Every sentence the session rules say, to people and to the model, in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.tool_call import OutcomeCategory

MAYBE_RUN = "Some actions may already have run."
"""Said only when a tool batch was launched (protocol "Recovery, exactly")."""

INTERRUPTED_TURN = "The work on this message was interrupted before it was finished."
EXPIRED_TURN = (
    "The work on this message was stopped more than ten minutes ago and is not taken up again."
)
POISON_TURN = "This message made the session crash repeatedly, so it was given up."
CUT_AT_LIMIT = "The model's reply was cut off at its output limit, so nothing of it was kept."
FILTERED = "The model's service held the reply back with its content filter."
EMPTY_REPLY = "The model answered with nothing, also when it was asked again."
MODEL_GONE = "The model that this run was started with is not configured any more."
RUN_OVER = (
    "This run was over before it read the message. Write to the session that asked for the run."
)
UNOFFERED_CALLS = "The model asked for tools although none were offered."

CALL_INTERRUPTED = (
    "Interrupted: this call was started, and the process ended before its result was known."
    " It may have taken effect. It was not run again."
)
CALL_NOT_STARTED = "Cancelled: this call was never started."
CONSENT_REFUSED = (
    "Refused: a person was asked for consent to this call and said no. It was not run. Do not try"
    " to reach the same by another way."
)
CONSENT_UNATTENDED = (
    "Denied (approval_required_unattended): this call needs a person's consent, and nobody can give"
    " it in this turn. It was not run."
)
PROMPT_CLOSED = "This prompt is no longer open."
NOT_YOUR_PROMPT = "This prompt is another person's to answer."
CALL_MISSING = "No result of this call is known."

NUDGE_EMPTY = (
    "[netclaw] Your last reply was empty. Answer the message above, or call a tool if you need one."
)
NUDGE_THINKING = (
    "[netclaw] Your last reply held only reasoning. Write the answer itself, or call a tool."
)

CONTINUED = (
    "[netclaw] netclaw was stopped in the middle of this turn and started again. Everything above"
    " still holds; processes that were running are gone. Go on from here."
)
STARTED_AGAIN = (
    "[netclaw] netclaw was stopped and started again after the turn above. Processes that were"
    " running are gone."
)

NOTE_STOPPED = "[netclaw] The person stopped this turn before it was finished."
NOTE_ABANDONED = (
    "[netclaw] The turn above was given up while calls of it waited for consent, because the person"
    " wrote something new. Those calls were not run."
)
NOTE_PREEMPTED = (
    "[netclaw] The automated turn above stopped unfinished, because a person wrote. Its remaining"
    " steps were not run."
)

NOTE_REPEATED = (
    "[netclaw] The turn above was ended because the same calls were asked for again and again. The"
    " calls of its last reply were not run."
)
NOTE_FAILING = (
    "[netclaw] The turn above was ended because its calls kept failing. The calls of its last reply"
    " were not run."
)

REPEATED = (
    "Not run: you are repeating yourself. In this turn the same call, or the same sequence of"
    " calls, has already come to the same result twice. Use that result, change the call, try"
    " another way, or answer with what you have."
)
REPEATED_STRONG = (
    "Not run, and refused for the fifth time: it has already come to the same result twice in this"
    " turn and will not be run again. If you ask for it once more, the turn ends. Answer now with"
    " what you have, or do something else."
)

_FAILURE_CAUSES: Mapping[OutcomeCategory, str] = {
    OutcomeCategory.INVALID_INPUT: "their arguments were invalid",
    OutcomeCategory.ACCESS_DENIED: "access was denied",
    OutcomeCategory.NOT_FOUND: "what they named was not found",
    OutcomeCategory.TRANSIENT_FAILURE: "something was unavailable for the moment",
    OutcomeCategory.FAILURE: "the tool ran and failed",
    OutcomeCategory.TIMEOUT: "they took too long",
    OutcomeCategory.RECOVERABLE_CORRECTION: "a correction was asked for and not made",
    OutcomeCategory.INTERRUPTED: "they were interrupted",
    OutcomeCategory.CANCELLED: "they were cancelled",
}
"""The end of "Your last calls failed, mostly because ..."."""


def failing(cause: OutcomeCategory) -> str:
    """The first word to a model whose calls only fail, naming what most of them failed of."""
    return (
        f"[netclaw] Your last calls failed, mostly because {_FAILURE_CAUSES[cause]}. Look at what"
        " the results say and change your approach instead of trying more of the same."
    )


def failing_strong(cause: OutcomeCategory) -> str:
    """The second word to it."""
    return (
        f"[netclaw] Your calls still fail, mostly because {_FAILURE_CAUSES[cause]}. Do something"
        " that can succeed, or answer and say what stands in the way. If they go on failing, the"
        " turn ends."
    )


def failing_last(cause: OutcomeCategory) -> str:
    """The last word to it: from here on only an answer is taken."""
    return (
        f"[netclaw] Too many calls in a row have failed, mostly because {_FAILURE_CAUSES[cause]}."
        " Answer now and say what stands in the way. If you ask for another tool, the turn ends and"
        " the call is not run."
    )


def with_warning(sentence: str, *, has_launched: bool) -> str:
    """Add the warning about actions if a batch of the turn was launched."""
    return f"{sentence} {MAYBE_RUN}" if has_launched else sentence


def failed_note(category: str) -> str:
    """The line the model finds after a failed turn, so that its history stays honest."""
    return f"[netclaw] The turn above ended without an answer ({category})."


_WHY_STOPPED: Mapping[AfterDrain, str] = {
    AfterDrain.DAEMON_RESTART: "netclaw is restarting",
    AfterDrain.DAEMON_STOP: "netclaw is stopping",
    AfterDrain.SESSION_RESTART: "This session is restarting",
    AfterDrain.NOTHING: "This session was stopped",
    AfterDrain.PARENT_STOP: "The session that asked for this run was stopped",
}


def stop_notice(then: AfterDrain, *, has_launched: bool) -> str:
    """What a person is told when a drain stops their turn for good (S0 "Recovery and restart")."""
    why = _WHY_STOPPED[then]
    sentence = f"{why}; the work on this message was stopped before it was finished."
    return with_warning(sentence, has_launched=has_launched)


def bad_arguments(fault: str) -> str:
    """The result of a call whose arguments cannot be used; its tool was not run."""
    return f"Invalid arguments: {fault} The tool was not run."


RESULT_CLEARED = "[netclaw] This older tool result was removed to save space."
"""What a compaction leaves of an old tool result."""

NO_NOTES = (
    "[netclaw] The earlier part of this conversation was removed to save space. There are no notes"
    " on it."
)
COMPACTION_ABANDONED = (
    "The conversation is too long for the model and could not be shortened: no notes could be made,"
    " and nothing else would have been left. It stays as it was."
)
COMMAND_REFUSED = "This command changes the conversation, which is not for you to do here."
NOTHING_RUNS = "Stopped. Nothing is running now."
COMPACTING = "The conversation is being shortened now."


def title_too_long(limit: int) -> str:
    """Why a title was not taken."""
    return f"A title has at most {limit} characters. The title stays as it was."


def title_set(title: str) -> str:
    """What whoever set or cleared the title is told."""
    return f"The title is now: {title}" if title else "The model will name this conversation again."


NOTHING_TO_COMPACT = "There is nothing to shorten in this conversation yet."
NOTES_EMPTY = "The model answered with nothing."
NOTES_WITHOUT_ROOM = "There is no room for them."


def asking_fallback(failure: str) -> str:
    """What who waits is told when the fallback model takes over."""
    return f"{failure} The fallback model is asked instead."


def fallback_failed(first: str, last: str) -> str:
    """Why a turn failed when the fallback model was no help either."""
    return f"{first} The fallback model failed too: {last}"


THIS_MESSAGE = "This message"
EARLIER_MESSAGE = "An earlier message"
EARLIER_REPLY = "The model's last reply"
EARLIER_NOTE = "A note in the conversation"


def tool_result(name: str) -> str:
    """Names the result of a call to this tool."""
    return f"The result of a call to {name}"


def too_large(what: str, *, tokens: int, window: int) -> str:
    """Why a turn cannot go on although everything else was taken away (decision 29)."""
    return (
        f"{what} is too large for the model: it has about {tokens} tokens, and the model takes"
        f" {window} for the whole conversation."
    )


def instructions_too_large(window: int) -> str:
    """Why no shorter history would help."""
    return (
        "The instructions and tools alone are too large for the model, which takes"
        f" {window} tokens for the whole conversation."
    )


def mostly_instructions(window: int) -> str:
    """Why a turn cannot go on although no message is to blame."""
    return (
        "What is left of the conversation is mostly instructions and tools, and still too large"
        f" for the model. Perhaps it takes less than the {window} tokens of its ContextWindow."
    )


def without_notes(failure: str) -> str:
    """What a person is told when a compaction got no notes."""
    return f"The conversation was shortened without notes on what was removed: {failure}"


def child_ended(run_id: str, *, agent: str, state: str, reason: str, result_path: str) -> str:
    """What the model is told of a child run that is over: run, state and where its report is."""
    why = f" ({reason})" if reason else ""
    where = f" Its report: {result_path}" if result_path else ""
    return f"[netclaw] Child run {run_id} of agent {agent} ended: {state}{why}.{where}"


def job_ended(
    job_id: str, *, command: str, state: str, exit_code: int | None, log_path: str
) -> str:
    """What the model is told of a background job that is over."""
    code = "" if exit_code is None else f", exit code {exit_code}"
    head = f"[netclaw] Background job {job_id} ended: {state}{code}."
    return f"{head} Command: {command} Output: {log_path}"


def adopted(catalog: str, *, omitted: int) -> str:
    """What the model is told before the messages of an adopted transcript."""
    older = f" {omitted:,} older messages of it were left out." if omitted else ""
    return f"[netclaw] This conversation began elsewhere ({catalog}) and goes on here.{older}"


def changes_told(targets: Sequence[str], *, is_wake: bool) -> str:
    """Why a turn began that nobody wrote for, or what the model is told beside its input."""
    named = ", ".join(targets[:3]) + (f" and {len(targets) - 3} more" if targets[3:] else "")
    which = (
        f"another session changed: {named}"
        if len(targets) == 1
        else (f"{len(targets)} other sessions changed: {named}")
    )
    return f"Woken because {which}." if is_wake else f"The model is told that {which}."
