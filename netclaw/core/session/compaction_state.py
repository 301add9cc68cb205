"""What a compaction is about while it runs: its plan, and the run that waits for notes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.ids import CallId, DispatchToken, InputId
from netclaw.core.messages import Message


class Trigger(StrEnum):
    """Why a history is shortened; the value is what `Compacted` records."""

    THRESHOLD = "threshold"
    OVERFLOW = "overflow"
    """The provider refused the request as too long."""
    MANUAL = "manual"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """What a compaction does to the history, and how much room it leaves for notes."""

    cleared_call_ids: tuple[CallId, ...]
    """Calls whose results become placeholders."""
    kept_messages: int
    """How many of the newest messages stay."""
    kept_input_ids: tuple[InputId, ...]
    """Inputs before those that stay too: what the open turn, or the first answer kept, is about."""
    dropped: tuple[Message, ...]
    """What the notes are made from, without the earlier notes."""
    earlier_notes: str
    tokens_before: int
    tokens_after: int
    """Without new notes."""
    notes_characters: int
    """Room for notes; 0 when none are wanted."""

    @property
    def is_nothing_left(self) -> bool:
        """Whether only notes could stand for the whole conversation."""
        return not self.kept_messages and not self.kept_input_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRun:
    """A compaction in progress; it dies with the process and leaves no trace."""

    token: DispatchToken
    """Names its notes call."""
    trigger: Trigger
    plan: CompactionPlan
    next_input: InputId | None = None
    """Whose turn comes next, if not simply that of the oldest input waiting."""
