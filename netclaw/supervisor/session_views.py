"""How sessions are shown to models: rows of a list, messages of a history, one session's facts.

Everything is redacted before it is cut, and cut before it is counted against the bound of an
answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from netclaw.core.authority import SourceKind
from netclaw.core.ids import SessionId
from netclaw.core.messages import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage
from netclaw.core.redaction import shown_arguments
from netclaw.core.session.events import SessionKind
from netclaw.core.signals.events import SignalEvent
from netclaw.ports.journal import SessionRecord
from netclaw.ports.sessions import ChangesView, ChangeView, HistoryQuestion, ListQuestion
from netclaw.ports.signals import StateChanges
from netclaw.wire.replay import Redact

BLOCK_CHARS = 4_000
"""Of one text in a history."""
HISTORY_BYTES = 80 * 1024
PAGE_BYTES = 64 * 1024
ROW_MESSAGE_CHARS = 400
"""Of one message in a row of a list."""
CUT = " [cut]"

_KINDS = {
    SourceKind.REMINDER: "cron",
    SourceKind.WEBHOOK: "hook",
    SourceKind.CLI: "main",
}

Json = dict[str, object]


def kind_of(record: SessionRecord) -> str:
    """The kind by which models tell sessions apart."""
    if record.kind is SessionKind.CHILD:
        return "other"
    return _KINDS.get(record.channel, "group" if record.channel.is_of_people else "other")


def is_listed(record: SessionRecord, question: ListQuestion, *, now_ms: int) -> bool:
    """Whether a session is one of those that were asked for."""
    if question.kinds and kind_of(record) not in question.kinds:
        return False
    if question.label and record.title.casefold() != question.label.strip().casefold():
        return False
    words = question.search.casefold()
    texts = (record.session_id, record.title, record.goal)
    if words and not any(words in text.casefold() for text in texts):
        return False
    since = now_ms - question.active_minutes * 60_000
    return not question.active_minutes or record.last_activity_at >= since


def row(record: SessionRecord, phase: str, messages: Sequence[Json] | None) -> Json:
    """One session of a list; a version only if anything was ever recorded of it."""
    shown: Json = {
        "sessionKey": record.session_id,
        "kind": kind_of(record),
        "channel": record.channel.value,
        "label": record.title or None,
        "phase": phase,
        "turns": record.turns,
        "updatedAt": moment(record.last_activity_at),
        "stateVersion": record.state_version or None,
        "goal": record.goal or None,
        "goalStatus": record.goal_status.value if record.goal else None,
        "parentSessionKey": record.parent,
        "messages": messages,
    }
    return {name: value for name, value in shown.items() if value is not None}


def size_of(shown: Json) -> int:
    """What a row takes of a page, in bytes."""
    return len(as_text(shown).encode()) + 1


def page(rows: Sequence[Json], *, offset: int, total: int) -> bytes:
    """As many of the rows as a page carries; `offset` is that of the first, `total` of all."""
    shown: list[str] = []
    size = 0
    for item in rows:
        text = as_text(item)
        size += len(text.encode()) + 1
        if size > PAGE_BYTES and shown:
            break
        shown.append(text)
    after = offset + len(shown)
    head: Json = {"ok": True, "total": total, "hasMore": after < total}
    if after < total:
        head["nextOffset"] = after
    return f'{as_text(head)[:-1]},"sessions":[{",".join(shown)}]}}'.encode()


def last_messages(history: Sequence[Message], count: int, redact: Redact) -> list[Json]:
    """What people and model said last, without tools, each cut short."""
    spoken = [item for item in history if _is_spoken(item)][-count:]
    shown = [_shown(item, redact, limit=ROW_MESSAGE_CHARS, with_tools=False) for item in spoken]
    return [item.content for item in shown]


def history_answer(
    key: str, history: Sequence[Message], question: HistoryQuestion, redact: Redact
) -> bytes:
    """A page of a history, counted from the newest message; the newest are kept if it is full."""
    wanted = [item for item in history if question.with_tools or _is_spoken(item)]
    last = max(0, len(wanted) - question.offset)
    first = max(0, last - question.limit)
    shown: list[_Shown] = []
    size = 0
    for item in reversed(wanted[first:last]):
        made = _shown(item, redact, limit=BLOCK_CHARS, with_tools=question.with_tools)
        size += len(as_text(made.content).encode()) + 1
        if size > HISTORY_BYTES and shown:
            break
        shown.append(made)
    shown.reverse()
    dropped = last - first - len(shown)
    is_cut = any(item.is_cut for item in shown)
    answer: Json = {
        "ok": True,
        "sessionKey": key,
        "total": len(wanted),
        "truncated": bool(dropped) or is_cut,
        "droppedMessages": dropped,
        "contentTruncated": is_cut,
        "contentRedacted": any(item.is_redacted for item in shown),
        "messages": [item.content for item in shown],
    }
    if last - len(shown) > 0:
        answer["nextOffset"] = question.offset + len(shown)
    return as_text(answer).encode()


def own_lines(record: SessionRecord) -> str:
    """What a process does not know of its own session better than its record."""
    goal = f"{record.goal} ({record.goal_status.value})" if record.goal else "(none)"
    lines = [f"goal: {goal}"]
    if record.parent is not None:
        lines.append(f"parent: {record.parent}")
    return "\n".join(lines)


def status_lines(record: SessionRecord, phase: str) -> str:
    """How another session stands."""
    rows = {
        "session": record.session_id,
        "title": record.title or "(none yet)",
        "kind": kind_of(record),
        "phase": phase,
        "audience": record.audience.value,
        "channel": record.channel.value,
        "turns": record.turns,
        "life": record.life,
        "inputs waiting": record.pending_inputs,
        "context tokens": record.context_tokens,
        "last activity": moment(record.last_activity_at),
    }
    lines = [f"{name}: {value}" for name, value in rows.items()]
    return "\n".join((*lines, own_lines(record)))


def former_run_lines(run: SessionId) -> str:
    """How a child run stands whose session was removed once its result was told."""
    return (
        f"session: {run}\nphase: over\nIts messages are removed; its changes are kept for a while."
    )


def changes_view(changes: StateChanges) -> ChangesView:
    """Changes with what models may see of them."""
    return ChangesView(
        events=tuple(map(_change, changes.events)),
        is_truncated=changes.is_truncated,
        earliest_available=changes.earliest_available,
        has_history_gap=changes.has_history_gap,
    )


def _change(event: SignalEvent) -> ChangeView:
    signal = event.signal
    return ChangeView(
        sequence=event.sequence,
        kind=signal.kind,
        actor_type=signal.actor.type.value,
        occurred_at=signal.occurred_at,
        summary=signal.summary,
        actor_id=signal.actor.id,
        run_id=signal.run_id or "",
        outcome=signal.payload.outcome,
        channel=signal.payload.channel,
        turns=signal.payload.turns,
    )


def moment(at_ms: int) -> str:
    """A time as models read it."""
    made = datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    return made.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_text(answer: Json) -> str:
    """One JSON object on one line."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A message as it is shown, and what was done to it."""

    content: Json
    is_cut: bool
    is_redacted: bool


class _Cutter:
    """Redacts and cuts the texts of one message."""

    def __init__(self, redact: Redact, limit: int) -> None:
        self._redact = redact
        self._limit = limit
        self.is_cut = False
        self.is_redacted = False

    def text(self, text: str) -> str:
        """A text as it is shown."""
        clean = self._redact(text)
        self.is_redacted |= clean != text
        return self.clean(clean)

    def clean(self, text: str) -> str:
        """The same of a text that was redacted."""
        if len(text) <= self._limit:
            return text
        self.is_cut = True
        return text[: self._limit] + CUT


def _is_spoken(message: Message) -> bool:
    match message:
        case ToolMessage():
            return False
        case AssistantMessage():
            return bool(message.text)
        case _:
            return True


def _shown(message: Message, redact: Redact, *, limit: int, with_tools: bool) -> _Shown:
    cutter = _Cutter(redact, limit)
    content: Json = {"role": _role(message), "text": cutter.text(message.text)}
    content["at"] = moment(message.at)
    if isinstance(message, UserMessage) and message.sender:
        content["sender"] = message.sender
    if isinstance(message, ToolMessage):
        content["callId"] = message.call_id
    if isinstance(message, AssistantMessage) and with_tools and message.calls:
        content["toolCalls"] = [
            {
                "callId": call.call_id,
                "tool": call.name,
                "arguments": cutter.clean(shown_arguments(call.arguments, redact)),
            }
            for call in message.calls
        ]
    return _Shown(content=content, is_cut=cutter.is_cut, is_redacted=cutter.is_redacted)


def _role(message: Message) -> str:
    match message:
        case UserMessage():
            return "user"
        case AssistantMessage():
            return "assistant"
        case ToolMessage():
            return "tool"
        case NoteMessage():
            return "note"
