"""`session_status`: how a session stands, and what changed in it after a version (S1 Tools)."""

from __future__ import annotations

from datetime import UTC, datetime

from netclaw.core.errors import NetclawError
from netclaw.ports.sessions import OWN, ChangesView, ChangeView, StatusView
from netclaw.ports.tool import SessionFacts, ToolContext
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.session_answers import as_json, asked, key_field
from netclaw.tools.tool import NOT_PUBLIC, Outcome, Scope

MAX_VERSION = 2**53 - 1
"""JSON numbers are exact up to here."""
REFRESH = (
    "Some changes after this version are not kept any more (historyGap). Do not rely on the list"
    " alone: read the session anew with sessions_history and session_status."
)


class SessionStatus:
    """Looks and changes nothing: a notice that is open stays open (decision 53)."""

    name = "session_status"
    description = (
        "Tells how a session stands: this conversation's own, or with `sessionKey` another that you"
        " may see. `stateVersion` counts its changes; with `changesSince` the changes after that"
        " version are listed."
    )
    audiences = NOT_PUBLIC
    fields: tuple[Field, ...] = (
        key_field(f"Which session; `{OWN}` or nothing for this conversation's own."),
        Field(
            name="changesSince",
            kind=Kind.INTEGER,
            description="A stateVersion that you have seen; 0 lists all changes that are kept.",
            minimum=0,
            maximum=MAX_VERSION,
        ),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        key = arguments.text("sessionKey")
        since = arguments.whole("changesSince", -1)
        view = await _view(scope.context, key, since=None if since < 0 else since)
        text = own_text(scope.context.facts(), view) if view.is_own else view.text
        answer: dict[str, object] = {
            "ok": True,
            "sessionKey": view.key,
            "stateVersion": view.state_version,
            "statusText": text,
        }
        if view.changes is not None:
            answer["stateChanges"] = _changes(view.changes)
            answer["notice"] = REFRESH if view.changes.has_history_gap else None
        return Outcome(text=as_json(answer))


async def _view(context: ToolContext, key: str, *, since: int | None) -> StatusView:
    """What the supervisor says; about its own session a process can always tell something."""
    question = context.sessions.status(key, since=since)
    if key not in ("", OWN, context.session_id):
        return await asked(question)
    try:
        return await question
    except NetclawError:
        changes = None if since is None else ChangesView()
        return StatusView(
            key=context.session_id, is_own=True, state_version=0, text="", changes=changes
        )


def own_text(facts: SessionFacts, view: StatusView) -> str:
    """What a session knows of itself, and what only the supervisor knows of it."""
    used = f"{facts.last_input_tokens} of {facts.context_window} tokens in the last request"
    rows = {
        "session": facts.session_id,
        "title": facts.title or "(none yet)",
        "phase": facts.phase,
        "audience": facts.audience,
        "channel": facts.channel,
        "turns": facts.turns,
        "life": facts.life,
        "inputs waiting": facts.buffered_inputs,
        "context": used,
        "model": facts.model or "(none)",
        "project directory": facts.working_directory or "(none)",
    }
    lines = [f"{name}: {value}" for name, value in rows.items()]
    return "\n".join((*lines, view.text) if view.text else lines)


def _changes(changes: ChangesView) -> dict[str, object]:
    return {
        "events": [_event(event) for event in changes.events],
        "truncated": changes.is_truncated,
        "earliestAvailableSequence": changes.earliest_available,
        "historyGap": changes.has_history_gap,
    }


def _event(event: ChangeView) -> dict[str, object]:
    payload = {"outcome": event.outcome, "channel": event.channel, "turns": event.turns}
    shown = {
        "sequence": event.sequence,
        "kind": event.kind.value,
        "actorType": event.actor_type,
        "actorId": event.actor_id or None,
        "runId": event.run_id or None,
        "occurredAt": _moment(event.occurred_at),
        "summary": event.summary,
        "payload": {name: value for name, value in payload.items() if value} or None,
    }
    return {name: value for name, value in shown.items() if value is not None}


def _moment(at_ms: int) -> str:
    moment = datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
