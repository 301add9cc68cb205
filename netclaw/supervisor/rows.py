"""Shows sessions, their histories and their ledgers as the protocol lists them."""

from __future__ import annotations

from netclaw.core.messages import AssistantMessage, Message, ToolMessage, UserMessage
from netclaw.core.redaction import shown_arguments
from netclaw.core.session.consent import is_waiting
from netclaw.core.session.state import SessionState
from netclaw.ports.answers import PendingConsent
from netclaw.ports.journal import LedgerEntry, SessionRecord
from netclaw.supervisor.slot import Slot
from netclaw.wire.replay import Redact
from netclaw.wire.v1 import common_pb2
from netclaw.wire.v1 import gateway_pb2 as pb


def session_row(
    record: SessionRecord, slot: Slot | None, *, context_window: int = 0
) -> pb.SessionRow:
    """The catalog row with what its process is doing now."""
    is_held = record.is_quarantined or (slot is not None and slot.hold is not None)
    phase = "passive" if slot is None else slot.display_phase
    return pb.SessionRow(
        id=record.session_id,
        title=record.title,
        channel=record.channel.value,
        audience=record.audience.value,
        phase="quarantined" if is_held else phase,
        pid=slot.pid if slot is not None else 0,
        incarnation=record.incarnation,
        turns=record.turns,
        pending_inputs=record.pending_inputs,
        state_version=record.state_version,
        last_activity_at_ms=record.last_activity_at,
        quarantined=is_held,
        head_seq=record.head,
        life=record.life,
        kind=record.kind.value,
        context_tokens=record.context_tokens,
        context_window=context_window,
        parent=record.parent or "",
        goal=record.goal,
        goal_status=record.goal_status.value if record.goal else "",
    )


def open_work(state: SessionState) -> tuple[list[str], list[str], list[str]]:
    """What is open in a session: calls that wait for a person, child runs, background jobs."""
    batch = state.turn.batch if state.turn is not None else ()
    calls = [item.call.call_id for item in batch if is_waiting(item)]
    for run in state.children:
        calls += [asked.request.call_id for asked in run.unanswered]
    runs = [run.run_id for run in state.children if not run.is_closed]
    return [*calls], [*runs], [job.job_id for job in state.jobs if job.state.is_live]


def history_item(message: Message, redact: Redact) -> pb.HistoryItem:
    """One chat item as subscribers saw it: results were redacted when they were recorded."""
    match message:
        case UserMessage():
            return pb.HistoryItem(
                role="user", text=message.text, at_ms=message.at, sender=message.sender
            )
        case AssistantMessage():
            return pb.HistoryItem(
                role="assistant",
                text=message.text,
                at_ms=message.at,
                turn_id=message.turn_id,
                tool_calls=[
                    pb.HistoryCall(
                        call_id=call.call_id,
                        tool_name=call.name,
                        arguments=shown_arguments(call.arguments, redact),
                    )
                    for call in message.calls
                ],
            )
        case ToolMessage():
            return pb.HistoryItem(
                role="tool",
                text=message.text,
                tool_call_id=message.call_id,
                at_ms=message.at,
                turn_id=message.turn_id,
            )
        case _:
            return pb.HistoryItem(
                role="note", text=message.text, at_ms=message.at, turn_id=message.turn_id
            )


def ledger_entry(entry: LedgerEntry) -> pb.LedgerEntry:
    """What became of one input."""
    return pb.LedgerEntry(
        input_id=entry.input_id,
        source=entry.source,
        source_message_id=entry.source_message_id or "",
        received_at_ms=entry.received_at,
        admitted_at_ms=entry.admitted_at,
        turn_id=entry.turn_id or "",
        outcome=entry.outcome,
        deliveries=[
            pb.LedgerDelivery(
                channel=delivery.channel,
                state=delivery.state,
                attempts=delivery.attempts,
                external_id=delivery.external_id,
            )
            for delivery in entry.deliveries
        ],
        seq=entry.seq,
    )


def pending_row(pending: PendingConsent) -> pb.PendingApproval:
    """A request that waits for a person."""
    request, requester = pending.request, pending.request.requester
    return pb.PendingApproval(
        call_id=request.call_id,
        session_id=pending.session_id,
        tool=request.tool,
        display=request.display,
        candidates=request.candidates,
        options=[
            common_pb2.ConsentOption(key=item.key, label=item.label, effect=item.effect.value)
            for item in request.options
        ],
        requester=common_pb2.Sender(
            sender_id=requester.sender_id or "",
            principal=requester.principal.value,
            audience=requester.audience.value,
            source_kind=requester.channel_type.value,
            boundary=requester.boundary,
        ),
        run_id=pending.run_id or "",
        turn_id=pending.turn_id,
        seq=pending.seq,
        asked_at_ms=pending.asked_at,
        cwd=request.cwd,
        speakers=request.adopted_speakers,
        position=pending.position,
    )
