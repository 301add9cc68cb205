"""Makes the result of a tool call durable and shows it."""

from __future__ import annotations

from netclaw.core.ids import TurnId
from netclaw.core.session import replies, sentences
from netclaw.core.session.draft import Draft
from netclaw.core.session.events import ToolResultRecorded, WorkingDirectorySet
from netclaw.core.session.outputs import FileOutput, ToolResultOutput
from netclaw.core.session.state import CallState, OpenTurn
from netclaw.core.tool_call import Attachment, OutcomeCategory, ToolReceipt, ToolResult


def record(draft: Draft, open_turn: OpenTurn, result: ToolResult, *, name: str) -> None:
    """Make one result durable and show it; what its receipt declares is recorded with it."""
    draft.record(ToolResultRecorded(turn_id=open_turn.turn_id, result=result))
    declared = result.receipt.declared_directory
    if declared and declared != draft.state.working_directory:
        draft.record(WorkingDirectorySet(path=declared, actor=name))
    draft.say(
        ToolResultOutput(
            turn_id=open_turn.turn_id,
            call_id=result.call_id,
            name=name,
            outcome=result.receipt.category,
            text=result.text,
            duration_ms=result.receipt.duration_ms,
        )
    )
    attached = result.receipt.attachment
    if attached is not None:
        draft.say(file_output(open_turn.turn_id, attached))
        draft.post(replies.files_for(draft.state.in_turn, open_turn, attached))


def file_output(turn_id: TurnId, attached: Attachment) -> FileOutput:
    """What subscribers and channels are told of an attached file."""
    return FileOutput(
        turn_id=turn_id,
        path=attached.path,
        media_type=attached.media_type,
        size_bytes=attached.size_bytes,
    )


def interrupted(item: CallState) -> ToolResult:
    """The durable result of a launched call whose own will never be known."""
    return ToolResult(
        call_id=item.call.call_id,
        text=sentences.CALL_INTERRUPTED,
        receipt=ToolReceipt(category=OutcomeCategory.INTERRUPTED),
    )
