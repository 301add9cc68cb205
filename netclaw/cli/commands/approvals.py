"""`netclaw approvals`: see what waits for a decision and decide; the grants are next door."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from netclaw.cli.app import App, JsonRow, compact, printable
from netclaw.cli.client import DaemonClient
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.completions import consent_options, pending_calls
from netclaw.cli.pages import all_rows
from netclaw.cli.params import of_session
from netclaw.cli.rows import when
from netclaw.cli.words import ago, counted, first_lines, shorten
from netclaw.core.errors import InvalidArgumentError, NotFoundError
from netclaw.core.session import sentences

if TYPE_CHECKING:
    from netclaw.wire.v1.gateway_pb2 import PendingApproval

_HERE = "netclaw.cli.commands.approvals"
_GRANTS = "netclaw.cli.commands.approvals_grants"
SHOWN_LINES, SHOWN_WIDTH = 12, 200

approvals = LazyGroup(
    "approvals",
    {
        "pending": Entry(f"{_HERE}:pending", "List the calls that wait for a decision."),
        "answer": Entry(f"{_HERE}:answer", "Decide about one of them."),
        "list": Entry(f"{_GRANTS}:list_grants", "List what is consented to."),
        "revoke": Entry(f"{_GRANTS}:revoke", "Take a consent back; it counts at once."),
        "trust-verb": Entry(f"{_GRANTS}:trust_verb", "Consent to a command ahead of any call."),
    },
    default="pending",
    summary="Decide about tool calls that wait, and see or take back what is consented to."
    " Without a further word it lists what waits.",
    examples=(
        "netclaw approvals pending",
        "netclaw approvals answer 4kq2 once",
        "netclaw approvals list --audience Personal",
        "netclaw approvals revoke 'git push'",
        "netclaw approvals trust-verb 'git push' --shell bash",
    ),
)


@command(
    "pending",
    examples=("netclaw approvals pending", "netclaw approvals pending --session notes --json"),
)
@of_session
def pending(app: App, *, session_id: str) -> None:
    """List the calls that wait for a decision, oldest first, in every session.

    A call waits as long as it takes: nothing expires, and no process is held by it.
    """
    rows = pending_approvals(app, session_id)
    if app.is_json:
        app.emit([pending_json(row) for row in rows])
        return
    if not rows:
        app.say("nothing waits for a decision")
        return
    for row in rows:
        _show(app, row)
    app.note("decide with `netclaw approvals answer CALL OPTION`; OPTION is a letter or a label")


def pending_approvals(app: App, session_id: str = "") -> list[PendingApproval]:
    """Every request that waits, a page at a time."""
    from netclaw.wire.v1.gateway_pb2 import ListApprovalsRequest

    with DaemonClient(app.home) as client:

        def page_after(position: int) -> tuple[Iterable[PendingApproval], bool]:
            request = ListApprovalsRequest(session_id=session_id, after=position)
            page = client.call(client.gateway.ListApprovals, request)
            return page.approvals, page.more

        return all_rows(page_after)


def pending_json(row: PendingApproval) -> JsonRow:
    """A line of `approvals pending`."""
    return compact(
        {
            "callId": row.call_id,
            "sessionId": row.session_id,
            "tool": row.tool,
            "display": row.display,
            "options": [{"key": item.key, "label": item.label} for item in row.options],
            "requester": row.requester.sender_id or None,
            "childRunId": row.run_id or None,
            "candidates": list(row.candidates),
            "cwd": row.cwd or None,
            "askedAt": when(row.asked_at_ms),
            "audience": row.requester.audience,
            "principal": row.requester.principal,
            "boundary": row.requester.boundary,
            "speakers": list(row.speakers) or None,
            "turnId": row.turn_id,
            "seq": row.seq,
        }
    )


def _show(app: App, row: PendingApproval) -> None:
    from netclaw.cli.chat.questions import is_danger, question_in

    asker = f" by {row.requester.sender_id}" if row.requester.sender_id else ""
    run = f", run {row.run_id}" if row.run_id else ""
    head = f"{row.tool} in {row.session_id}{run}, asked {ago(row.asked_at_ms)}{asker}"
    app.say(f"{app.style(printable(row.call_id), 'bold')}  {printable(head)}")
    for line in first_lines(row.display, SHOWN_LINES, SHOWN_WIDTH):
        app.say(f"  {line}")
    if row.cwd:
        app.say(app.style(f"  in {printable(row.cwd)}", "dim"))
    if list(row.candidates) not in ([], [row.display]):
        missing = shorten("; ".join(row.candidates), SHOWN_WIDTH)
        app.say(app.style(f"  not allowed yet: {printable(missing)}", "dim"))
    if row.speakers:
        app.say(app.style(f"  also shown: words of {printable(', '.join(row.speakers))}", "dim"))
    options = [
        app.style(f"{letter} {printable(option.label)}", "red" if is_danger(option) else "cyan")
        for letter, option in question_in(row).lettered()
    ]
    app.say(f"  {'   '.join(options)}\n")


@command(
    "answer",
    examples=(
        "netclaw approvals answer 4kq2 once",
        "netclaw approvals answer 4kq2 B",
        "netclaw approvals answer 4kq2 'Always here'",
        "netclaw approvals answer 4kq2 deny --json",
    ),
)
@click.argument("call_id", metavar="CALL_ID", shell_complete=pending_calls)
@click.argument("option", metavar="OPTION", shell_complete=consent_options)
def answer(app: App, *, call_id: str, option: str) -> None:
    """Decide about a call that waits.

    CALL_ID may be shortened as long as it stays unique. OPTION is a key, a letter or a label of
    `netclaw approvals pending`. What other people's messages led to can only be denied here; they
    allow it themselves, in their channel.
    """
    from netclaw.cli.chat.headless import local_sender_id
    from netclaw.cli.chat.questions import question_in

    row = _named(pending_approvals(app), call_id)
    chosen = question_in(row).chosen_by(option)
    with DaemonClient(app.home) as client:
        from netclaw.wire.v1.common_pb2 import Sender
        from netclaw.wire.v1.gateway_pb2 import AnswerApprovalRequest

        request = AnswerApprovalRequest(
            session_id=row.session_id,
            call_id=row.call_id,
            option=chosen.key if chosen is not None else option,
            sender=Sender(
                sender_id=local_sender_id(), source_kind="cli", authenticity="LocalProcess"
            ),
            request_seq=row.seq,
        )
        response = client.call(client.gateway.AnswerApproval, request)
    if response.notice:
        app.note(response.notice)
    if app.is_json:
        app.emit(
            {
                "callId": row.call_id,
                "sessionId": row.session_id,
                "option": request.option,
                "seq": response.seq,
            }
        )
        return
    label = chosen.label if chosen is not None else option
    app.say(printable(f"{label}: {row.tool} in {row.session_id}"))


def _named(rows: list[PendingApproval], name: str) -> PendingApproval:
    """The request of the call that begins so; raises if there is none, or more than one."""
    found = [row for row in rows if row.call_id == name] or [
        row for row in rows if name and row.call_id.startswith(name)
    ]
    if not found:
        raise NotFoundError(
            sentences.PROMPT_CLOSED, fix="See what is open with `netclaw approvals pending`."
        )
    if len(found) > 1:
        calls = ", ".join(row.call_id for row in found[:5])
        raise InvalidArgumentError(
            f"{counted(len(found), 'call')} begin with {name!r}: {calls}.",
            fix="Give more of the call's id.",
        )
    return found[0]
