"""The chat items that make up a session's history and a model request."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.ids import CallId, InputId
from netclaw.core.tool_call import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts as the provider reported them; 0 means not reported."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0

    def plus(self, other: Usage) -> Usage:
        """Add the counts of another model call of the same turn."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRef:
    """An admitted upload: its id, type, size in bytes and display name."""

    upload_id: str
    media_type: str
    size_bytes: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """Text a person or an automated source sent, with the input it came from."""

    input_id: InputId
    text: str
    at: int
    sender: str = ""
    media: tuple[MediaRef, ...] = ()
    seq: int = 0
    """seq of its InputAdmitted; 0 in snapshots of an older netclaw and where it has none."""
    is_adopted: bool = False
    """From the transcript of another program: nobody wrote it to netclaw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """One model response: text, thinking (never shown back to the model), calls."""

    text: str
    at: int
    turn_id: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    is_adopted: bool = False
    """From the transcript of another program: no model of netclaw said it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMessage:
    """The result of one call, paired by netclaw's own call id."""

    call_id: CallId
    text: str
    at: int
    turn_id: str = ""


class NoteKind(StrEnum):
    """What a note is."""

    LINE = "line"
    """Something the runtime says."""
    SUMMARY = "summary"
    """Notes that stand for messages a compaction dropped."""
    NOTICES = "notices"
    """The lines about watched sessions at the start of a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteMessage:
    """What the runtime tells the model (a stopped turn, a notice); shown as a user-role item."""

    text: str
    at: int
    turn_id: str = ""
    kind: NoteKind = NoteKind.LINE


Message = UserMessage | AssistantMessage | ToolMessage | NoteMessage
