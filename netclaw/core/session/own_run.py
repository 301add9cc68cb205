"""A run as its own session knows it: what it was started with, what it wrote, how it ended.

The parent's journal is the truth of a run (ADR 0031). This is what the run's process makes its
reports from, in whichever process it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import InputId
from netclaw.core.session import sentences
from netclaw.core.session.child_events import ChildFrozen, ChildState
from netclaw.core.session.events import TurnFailed, TurnOutcome, TurnRecorded
from netclaw.core.tool_call import FileOperation, OutcomeCategory, ToolReceipt

FILES_KEPT = 50
"""Files that a run is remembered to have written; a parent's recent files hold fewer."""

OWNER_RESTARTED = "owner_restarted"
OUTPUT_LIMIT = "output_limit"
MODEL_GONE = "model_gone"

_ENDS = {
    TurnOutcome.COMPLETED: (ChildState.COMPLETED, ""),
    TurnOutcome.GUARD_ENDED: (ChildState.PARTIAL, "loop_guard"),
    TurnOutcome.STOPPED: (ChildState.CANCELLED, "stopped"),
}

_REASONS = {sentences.CUT_AT_LIMIT: OUTPUT_LIMIT, sentences.MODEL_GONE: MODEL_GONE}
"""Failures that have a word of their own, by what is told of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How the turn of the task ended; `text` is its answer, or what a person would be told."""

    state: ChildState
    reason: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRun:
    """A run in the state of its own session."""

    frozen: ChildFrozen
    files: tuple[str, ...] = ()
    """Canonical paths of files that it is known to have written, newest first."""
    end: RunEnd | None = None

    @property
    def task_input(self) -> InputId:
        """The input that is the task; the turn that consumes it is the run."""
        return InputId(self.frozen.run_id)


def is_over(run: OwnRun | None) -> bool:
    """Whether this is a run whose task has ended: it takes up nothing any more."""
    return run is not None and run.end is not None


def with_files(run: OwnRun | None, receipt: ToolReceipt) -> OwnRun | None:
    """After a call with this receipt: what it wrote, if it is known to have succeeded."""
    if run is None or receipt.category is not OutcomeCategory.SUCCESS:
        return run
    written = [
        item.path
        for item in receipt.file_activity
        if item.operation is FileOperation.WRITE and not item.is_folder
    ]
    files = tuple(dict.fromkeys((*reversed(written), *run.files)))[:FILES_KEPT]
    return replace(run, files=files)


def with_end(
    run: OwnRun | None, event: TurnRecorded | TurnFailed, *, crashes: int
) -> OwnRun | None:
    """After the end of a turn: of the task's, how the run ended. The first end stands."""
    if run is None or run.end is not None or run.task_input not in event.input_ids:
        return run
    end = _recorded(event) if isinstance(event, TurnRecorded) else _failed(event, crashes)
    return replace(run, end=end)


def _recorded(event: TurnRecorded) -> RunEnd:
    state, reason = _ENDS[event.outcome]
    return RunEnd(state=state, reason=reason, text=event.message.text or event.note)


def _failed(event: TurnFailed, crashes: int) -> RunEnd:
    """A turn that was interrupted though its process never crashed lost its owner (decision 70)."""
    state, reason = ChildState.FAILED, event.category.value
    if event.category is ErrorCategory.INTERRUPTED and not crashes:
        state, reason = ChildState.LOST, OWNER_RESTARTED
    else:
        reason = _REASONS.get(event.note, reason)
    return RunEnd(state=state, reason=reason, text=event.note)
