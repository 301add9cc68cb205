"""The working context: where the session works, and the files it last touched (glossary).

Recent files come from receipts alone, never from what a model wrote or a result says. A turn keeps
the context it began with, so that all its model calls agree.
"""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.tool_call import FileOperation, OutcomeCategory, ToolReceipt

RECENT_FILES = 10
"""How many files are remembered."""

_TOUCHES_A_FILE = frozenset({FileOperation.READ, FileOperation.WRITE, FileOperation.ATTACH})


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingContext:
    """What later model calls are helped with; Git facts are no part of it."""

    directory: str = ""
    """The declared project directory, or empty."""
    recent_files: tuple[str, ...] = ()
    """Canonical paths, newest first."""


def with_activity(recent: tuple[str, ...], receipt: ToolReceipt) -> tuple[str, ...]:
    """The recent files after a call with this receipt: newest first, each once, at most ten."""
    if receipt.category is not OutcomeCategory.SUCCESS:
        return recent
    touched = (
        item.path
        for item in receipt.file_activity
        if item.operation in _TOUCHES_A_FILE and not item.is_folder
    )
    return with_paths(recent, tuple(touched)[::-1])


def with_paths(recent: tuple[str, ...], newest: tuple[str, ...]) -> tuple[str, ...]:
    """The recent files after these, newest first, were touched."""
    if not newest:
        return recent
    return tuple(dict.fromkeys((*newest, *recent)))[:RECENT_FILES]
