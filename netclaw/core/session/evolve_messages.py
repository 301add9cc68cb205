"""What each event adds to the history: the chat items a later model call is built from.

All functions look at the state before the event. Thinking is kept for people who read the
history; a request never sends it back (see `request`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from netclaw.core.authority import SourceKind
from netclaw.core.context.turn_block import COMMAND_CHARACTERS
from netclaw.core.ids import CallId, InputId, TurnId
from netclaw.core.messages import (
    AssistantMessage,
    Message,
    NoteKind,
    NoteMessage,
    ToolMessage,
    UserMessage,
)
from netclaw.core.session import loop_guard, sentences, slash
from netclaw.core.session.adoption_events import (
    AdoptedMessage,
    AdoptedRole,
    HistoryAdopted,
    SessionAdopted,
)
from netclaw.core.session.child_events import ChildResultDelivered
from netclaw.core.session.events import (
    InputJoined,
    Recorded,
    RoundRecorded,
    ToolResultRecorded,
    TurnFailed,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.job_events import JobReported
from netclaw.core.session.state import BufferedInput, CallState, OpenTurn, SessionState
from netclaw.core.signals import notices
from netclaw.core.text import one_line
from netclaw.core.tool_call import ToolResult


def of_started(state: SessionState, recorded: Recorded, event: TurnStarted) -> tuple[Message, ...]:
    """The inputs that began the turn, unless netclaw answers them itself, then its notices."""
    if event.is_aside:
        return ()
    inputs = _inputs(state.buffered, event.input_ids)
    if not event.notices:
        return inputs
    text = "\n".join(notices.line(notice.target, notice.since) for notice in event.notices)
    note = NoteMessage(text=text, at=recorded.at, turn_id=event.turn_id, kind=NoteKind.NOTICES)
    return (*inputs, note)


def of_joined(state: SessionState, recorded: Recorded, event: InputJoined) -> tuple[Message, ...]:
    """The inputs that joined at a batch boundary."""
    del recorded
    return _inputs(state.buffered, event.input_ids)


def of_round(state: SessionState, recorded: Recorded, event: RoundRecorded) -> tuple[Message, ...]:
    """The assistant's message with its calls."""
    del state, recorded
    return (event.message,)


def of_result(
    state: SessionState, recorded: Recorded, event: ToolResultRecorded
) -> tuple[Message, ...]:
    """The result of a call of the open batch; a second result of one call is not history.

    Behind the last result of a batch follows what the loop guard has to say about failures: a
    message of its own, so that results stay what the tools gave.
    """
    turn = state.turn
    if turn is None or find_open(state, event.result.call_id) is None:
        return ()
    at, turn_id = recorded.at, event.turn_id
    result = ToolMessage(
        call_id=event.result.call_id, text=event.result.text, at=at, turn_id=turn_id
    )
    batch = with_result(turn, event.result)
    note = loop_guard.failure_note(turn.guard, batch) if is_complete(batch) else ""
    return (result, NoteMessage(text=note, at=at, turn_id=turn_id)) if note else (result,)


def of_recorded(
    state: SessionState, recorded: Recorded, event: TurnRecorded
) -> tuple[Message, ...]:
    """The answer, or the note about a turn that was ended without one."""
    if state.turn is not None and state.turn.is_aside:
        return ()
    added: list[Message] = []
    if event.message.text:
        added.append(event.message)
    if event.note:
        added.append(NoteMessage(text=event.note, at=recorded.at, turn_id=event.turn_id))
    return tuple(added)


def of_failed(state: SessionState, recorded: Recorded, event: TurnFailed) -> tuple[Message, ...]:
    """A result for each call it closes, and the note that there is no answer."""
    turn = state.turn
    if turn is None or turn.turn_id != event.turn_id:
        return ()
    closed: list[Message] = []
    for call_id in event.closed_call_ids:
        found = find_open(state, call_id)
        if found is not None:
            text = sentences.CALL_INTERRUPTED if found.is_launched else sentences.CALL_NOT_STARTED
            closed.append(
                ToolMessage(call_id=call_id, text=text, at=recorded.at, turn_id=event.turn_id)
            )
    note = sentences.failed_note(event.category.value)
    return (*closed, NoteMessage(text=note, at=recorded.at, turn_id=event.turn_id))


def of_child_result(
    state: SessionState, recorded: Recorded, event: ChildResultDelivered
) -> tuple[Message, ...]:
    """The runtime's notice of how a run ended; never the report itself (decision 64)."""
    run = next((item for item in state.children if item.run_id == event.run_id), None)
    if run is None or run.ended is None:
        return ()
    text = sentences.child_ended(
        run.run_id,
        agent=run.accepted.agent,
        state=run.ended.state.value,
        reason=run.ended.reason,
        result_path=run.ended.result_path,
    )
    return (NoteMessage(text=text, at=recorded.at, turn_id=event.turn_id),)


def of_job_end(state: SessionState, recorded: Recorded, event: JobReported) -> tuple[Message, ...]:
    """The runtime's notice of how a background job ended."""
    job = next((item for item in state.jobs if item.job_id == event.job_id), None)
    if job is None:
        return ()
    text = sentences.job_ended(
        job.job_id,
        command=one_line(job.started.command, COMMAND_CHARACTERS),
        state=job.state.value,
        exit_code=job.exit_code,
        log_path=job.started.log_path,
    )
    return (NoteMessage(text=text, at=recorded.at, turn_id=event.turn_id),)


def of_adopted(
    state: SessionState, recorded: Recorded, event: SessionAdopted
) -> tuple[Message, ...]:
    """Where the messages behind it come from."""
    del state
    text = sentences.adopted(event.catalog, omitted=event.omitted)
    return (NoteMessage(text=text, at=recorded.at),)


def of_adopted_history(
    state: SessionState, recorded: Recorded, event: HistoryAdopted
) -> tuple[Message, ...]:
    """The messages of a transcript, each with its own time or else that of the adoption."""
    del state
    return tuple(_adopted(message, index, recorded) for index, message in enumerate(event.messages))


def find_open(state: SessionState, call_id: CallId) -> CallState | None:
    """The call of the open batch that has no result yet."""
    batch = state.turn.batch if state.turn is not None else ()
    found = (item for item in batch if item.call.call_id == call_id and item.result is None)
    return next(found, None)


def with_result(turn: OpenTurn, result: ToolResult) -> tuple[CallState, ...]:
    """The turn's batch once this result is recorded."""
    return tuple(
        replace(item, result=result) if item.call.call_id == result.call_id else item
        for item in turn.batch
    )


def is_complete(batch: tuple[CallState, ...]) -> bool:
    """Whether every call of the batch has its result."""
    return all(item.result is not None for item in batch)


def without_inputs(
    history: tuple[Message, ...], input_ids: frozenset[InputId]
) -> tuple[Message, ...]:
    """The history without inputs that returned to the buffer.

    They joined after the last recorded round, so only what follows it is looked at.
    """
    if not input_ids:
        return history
    start = len(history)
    while start and not isinstance(history[start - 1], AssistantMessage):
        start -= 1
    kept = tuple(
        item
        for item in history[start:]
        if not (isinstance(item, UserMessage) and item.input_id in input_ids)
    )
    return history[:start] + kept


def without_notices(history: tuple[Message, ...], turn_id: TurnId | None) -> tuple[Message, ...]:
    """The history without the notices of this turn, which no model call was recorded for."""
    if turn_id is None:
        return history
    return tuple(
        item
        for item in history
        if not (
            isinstance(item, NoteMessage)
            and item.kind is NoteKind.NOTICES
            and item.turn_id == turn_id
        )
    )


def _adopted(message: AdoptedMessage, index: int, recorded: Recorded) -> Message:
    at = message.at or recorded.at
    if message.role is AdoptedRole.ASSISTANT:
        return AssistantMessage(text=message.text, at=at, is_adopted=True)
    input_id = InputId(f"adopted-{recorded.seq}-{index}")
    return UserMessage(input_id=input_id, text=message.text, at=at, is_adopted=True)


def _inputs(
    buffered: Iterable[BufferedInput], input_ids: tuple[InputId, ...]
) -> tuple[Message, ...]:
    """What was written; nobody wrote a wake, whose notices say all there is."""
    wanted = frozenset(input_ids)
    return tuple(
        UserMessage(
            input_id=item.admitted.input_id,
            text=slash.spoken(item.admitted.text),
            at=item.at,
            sender=item.admitted.authority.requester.sender_id or "",
            media=item.admitted.media,
            seq=item.seq,
        )
        for item in buffered
        if item.admitted.input_id in wanted and not _is_wake(item)
    )


def _is_wake(item: BufferedInput) -> bool:
    return item.admitted.authority.provenance.source_kind is SourceKind.SIGNAL
