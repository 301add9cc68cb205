"""`sessions_send`: a message to another session, and its reply if it comes in time (S1 Tools).

Whether the message was sent and whether there is a reply are two things: once it is admitted every
answer says so, and a reply that comes too late for this call comes later, once.
"""

from __future__ import annotations

import asyncio

from netclaw.core.errors import DeniedByPolicyError, NetclawError
from netclaw.core.session.inter_session import MAX_MESSAGE_CHARS, SendStatus
from netclaw.core.tool_call import OutcomeCategory
from netclaw.ports.sessions import SendReport
from netclaw.tools.faults import ToolFault
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.session_answers import as_json, category_of, key_field
from netclaw.tools.tool import NOT_PUBLIC, Outcome, Scope

DEFAULT_TIMEOUT_S = 30
MAX_TIMEOUT_S = 600
"""Two sessions that wait for each other wait no longer than this."""
LOOK_S = 5.0
"""How long one question to the supervisor waits; after each the call has shown a sign of life."""
MAX_LABEL = 400

LATER = "The message is in the session's queue. Its reply comes later, as a message of its own."

_QUEUED = frozenset({SendStatus.ACCEPTED, SendStatus.TIMEOUT})


class SessionsSend:
    """Sent once: a call that was started is never run again, and its id names the message."""

    name = "sessions_send"
    description = (
        "Sends a message to another session that you may see, named by `sessionKey` or by its exact"
        " title (`label`), and waits for its reply. The session's own turn is not bounded by"
        " `timeoutSeconds`; a reply that comes after it reaches you later, once. With `watch` you"
        " are told once when somebody else changes that session."
    )
    audiences = NOT_PUBLIC
    fields: tuple[Field, ...] = (
        key_field("The session to write to."),
        Field(
            name="label",
            kind=Kind.STRING,
            description="Its exact title, instead of the key.",
            max_chars=MAX_LABEL,
        ),
        Field(
            name="message",
            kind=Kind.STRING,
            description="What to say, completely: the session sees nothing of this conversation.",
            is_required=True,
            max_chars=MAX_MESSAGE_CHARS,
        ),
        Field(
            name="timeoutSeconds",
            kind=Kind.INTEGER,
            description=f"How long to wait for the reply; {DEFAULT_TIMEOUT_S} without it, 0: not.",
            minimum=0,
            maximum=MAX_TIMEOUT_S,
        ),
        Field(name="watch", kind=Kind.BOOLEAN, description="Watch the session from now on."),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        key, label = arguments.text("sessionKey"), arguments.text("label")
        message = arguments.text("message")
        if bool(key) == bool(label):
            raise ToolFault.invalid("Name the session by either `sessionKey` or `label`.")
        if not message.strip():
            raise ToolFault.invalid("The message is empty.")
        is_watching = arguments.flag("watch")
        try:
            report = await scope.context.sessions.send(
                key=key, label=label, message=message, watch=is_watching
            )
        except NetclawError as error:
            return _refused(error)
        timeout_s = arguments.whole("timeoutSeconds", DEFAULT_TIMEOUT_S)
        ended = await _until_ended(report, scope, timeout_s)
        return _shown(ended, report, is_watching=is_watching)


async def _until_ended(sent: SendReport, scope: Scope, timeout_s: int) -> SendReport:
    """The last that is known in time; `timeout` if the turn goes on."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    report = sent
    while timeout_s and report.status is SendStatus.ACCEPTED:
        left = deadline - loop.time()
        if left <= 0:
            return SendReport(status=SendStatus.TIMEOUT, error=_late(timeout_s))
        try:
            report = await scope.context.sessions.wait(min(left, LOOK_S))
        except NetclawError as error:
            return SendReport(status=SendStatus.ERROR, error=error.sentence)
        scope.context.on_item()
    return report


def _late(timeout_s: int) -> str:
    return f"There was no reply within {timeout_s} seconds. The session's turn goes on."


def _refused(error: NetclawError) -> Outcome:
    """Nothing was sent."""
    is_forbidden = isinstance(error, DeniedByPolicyError)
    status = SendStatus.FORBIDDEN if is_forbidden else SendStatus.ERROR
    answer = {"status": status.value, "error": error.sentence, "code": error.code.value}
    return Outcome(text=as_json(answer), category=category_of(error))


def _shown(ended: SendReport, sent: SendReport, *, is_watching: bool) -> Outcome:
    status = ended.status
    is_answer = bool(ended.input_id) and status is not SendStatus.ACCEPTED
    answer: dict[str, object] = {
        "status": status.value,
        "sessionKey": sent.key,
        "inputId": sent.input_id,
        "reply": ended.reply if status is SendStatus.OK else None,
        "error": ended.error or None,
        "sentBeforeError": True if ended.error else None,
        "targetDisposition": "queued" if status in _QUEUED else None,
        "watched": sent.is_watched if is_watching else None,
        "note": None if is_answer else LATER,
    }
    is_failed = status is SendStatus.ERROR
    return Outcome(
        text=as_json(answer),
        category=OutcomeCategory.FAILURE if is_failed else OutcomeCategory.SUCCESS,
        answered_input=ended.input_id if is_answer else "",
    )
