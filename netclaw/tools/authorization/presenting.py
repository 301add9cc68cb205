"""Words a decision for whoever reads it: the session's rules, the model, the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from netclaw.core.authz.consent import MAX_DISPLAY_CHARS
from netclaw.core.authz.decisions import Decision, ruling_of
from netclaw.core.authz.reasons import DENIED_TEXTS, DenyReason
from netclaw.core.authz.requests import AuthorizationRequest, ShellCall
from netclaw.core.session.rulings import CallRuling, Outcome
from netclaw.core.tool_call import OutcomeCategory, ToolCall
from netclaw.tools.faults import ToolFault

_log = logging.getLogger(__name__)

WITHDRAWN = "The consent for this call was withdrawn before it started; it was not run."
NOT_JUDGED = DENIED_TEXTS[DenyReason.INTERNAL]

_MAX_NAME = 130

_INLINE_CHARS = 4000
"""A longer text is redacted in a thread: the session's loop must not wait (decision 86)."""


async def ruling_for(
    request: AuthorizationRequest, decision: Decision, redact: Callable[[str], str]
) -> CallRuling:
    """The decision as the session's rules take it, secrets removed from what is shown."""
    if len(decision.display) <= _INLINE_CHARS:
        made = ruling_of(decision, redact)
    else:
        made = await asyncio.to_thread(ruling_of, decision, redact)
    made = replace(made, cwd=cwd_of(request), display=shown(made.display))
    return _with_refusal(made, request, decision)


def shown(display: str) -> str:
    """What a prompt shows of a call: of very long arguments the beginning and the end.

    A command is never that long here: it has to be shown whole, or written shorter.
    """
    left_out = len(display) - MAX_DISPLAY_CHARS
    if left_out <= 0:
        return display
    end = MAX_DISPLAY_CHARS // 4
    start = MAX_DISPLAY_CHARS - end
    return f"{display[:start]} [... {left_out} characters left out ...] {display[-end:]}"


def _with_refusal(
    ruling: CallRuling, request: AuthorizationRequest, decision: Decision
) -> CallRuling:
    """A text that nobody can judge is a wrong call, and the model is told what is wrong with it."""
    call = request.call
    if decision.deny is not DenyReason.SHELL_TEXT_REFUSED or not isinstance(call, ShellCall):
        return ruling
    sentence = call.refusal.sentence if call.refusal is not None else ruling.text
    return replace(ruling, text=sentence, category=OutcomeCategory.INVALID_INPUT)


def refused(attempt_id: str, fault: ToolFault) -> CallRuling:
    """The ruling for a call that is not even judged: the category stays the fault's."""
    return CallRuling(
        outcome=Outcome.DENIED,
        text=fault.sentence,
        attempt_id=attempt_id,
        category=fault.category,
        remediation=fault.remediation,
    )


def failed(attempt_id: str) -> CallRuling:
    """The ruling where judging itself went wrong (`internal_policy_failure`)."""
    return CallRuling(outcome=Outcome.DENIED, text=NOT_JUDGED, attempt_id=attempt_id)


def withdrawn(attempt_id: str) -> CallRuling:
    """The ruling where a consent was given and is gone already."""
    return CallRuling(outcome=Outcome.DENIED, text=WITHDRAWN, attempt_id=attempt_id)


def refusal_of(decision: Decision) -> ToolFault:
    """What the model reads of a call that was to start and may not."""
    match decision.outcome:
        case Outcome.REQUIRES_CORRECTION:
            return ToolFault(
                OutcomeCategory.RECOVERABLE_CORRECTION,
                decision.text,
                remediation=decision.corrections[0],
            )
        case Outcome.REQUIRES_CONSENT:
            return ToolFault.denied(WITHDRAWN)
        case _:
            return ToolFault.denied(decision.text)


def told(call: ToolCall) -> str:
    """The tool's name for a log; a model may write anything in its place."""
    is_name = call.name.isidentifier() and len(call.name) <= _MAX_NAME
    return call.name if is_name else "(no name)"


def note_refused(call: ToolCall, fault: ToolFault) -> None:
    """One line for a call that was not judged: it names no tool, or its arguments mean nothing."""
    _log.info(
        "not judged: %s reason=%s attempt=%s", told(call), fault.category.value, call.attempt_id
    )


def note_failed(call: ToolCall, what: str) -> None:
    """One line for a call that could not be judged; `what` quotes nothing of it."""
    _log.warning(
        "judged: %s denied reason=%s attempt=%s: %s",
        told(call),
        DenyReason.INTERNAL.value,
        call.attempt_id,
        what,
    )


def note(decision: Decision, tool: str, *, stage: str) -> None:
    """One line in the log; a command or a path is never part of it."""
    level = {Outcome.ALLOWED: logging.DEBUG, Outcome.DENIED: logging.WARNING}.get(
        decision.outcome, logging.INFO
    )
    _log.log(
        level,
        "%s: %s %s reason=%s attempt=%s",
        stage,
        tool,
        decision.outcome.value,
        decision.code,
        decision.attempt_id,
    )


def cwd_of(request: AuthorizationRequest) -> str:
    """Where a shell command would run; empty for other tools."""
    return request.call.surroundings.cwd if isinstance(request.call, ShellCall) else ""
