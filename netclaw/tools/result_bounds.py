"""Turns what a tool gave into what the model sees: redact, then bound, then spill (decision 15).

The order is the point: a secret is removed from the whole text before any cut could hide half of
it, and what is stored is the redacted text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from netclaw.core.settings import SessionStorage
from netclaw.core.tool_call import Spill
from netclaw.tools.spill import is_spill_name, write_spill
from netclaw.tools.tool import Outcome

_SNAP = 200
"""How far a cut moves to fall between two lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """The text for the model, and the spill behind it if it was shortened."""

    text: str
    spill: Spill | None


def bound(
    outcome: Outcome,
    *,
    call_id: str,
    storage: SessionStorage,
    redact: Callable[[str], str],
    max_chars: int,
) -> Bounded:
    """Blocking and possibly slow on a large text: belongs into a thread then.

    If the full text cannot be stored the model gets the shortened one and no promise.
    """
    note = redact(outcome.note)
    body = redact(outcome.text)
    room = max(200, max_chars - len(note) - 1)
    if len(body) <= room and outcome.is_complete:
        return Bounded(text=_joined(body, note), spill=None)
    spill = _stored(storage, call_id, body, note, is_complete=outcome.is_complete)
    if len(body) <= room:
        return Bounded(text=_joined(body, note), spill=spill)
    return Bounded(text=_joined(_window(body, room, call_id, spill), note), spill=spill)


def _joined(body: str, note: str) -> str:
    return f"{body}{_gap(body, note)}{note}"


def _gap(body: str, note: str) -> str:
    return "\n" if note and body and not body.endswith("\n") else ""


def _stored(
    storage: SessionStorage, call_id: str, body: str, note: str, *, is_complete: bool
) -> Spill | None:
    if not is_spill_name(call_id):
        return None
    try:
        size = write_spill(storage, call_id, body, _gap(body, note), note)
    except OSError:
        return None
    return Spill(size_bytes=size, is_complete=is_complete)


def _window(body: str, room: int, call_id: str, spill: Spill | None) -> str:
    """Beginning and end of a text, with a line between them that says what is missing."""
    head_end = _snap_down(body, room // 2 - 120)
    tail_start = _snap_up(body, len(body) - (room // 2 - 120))
    left_out = tail_start - head_end
    gap = f"[{left_out} of {len(body)} characters are left out here."
    if spill is not None:
        gap += f' Read on with tool_output_read: call_id "{call_id}", start {head_end}.'
        if not spill.is_complete:
            gap += " The stored text has gaps of its own."
    return f"{body[:head_end]}\n{gap}]\n{body[tail_start:]}"


def _snap_down(text: str, at: int) -> int:
    line = text.rfind("\n", max(0, at - _SNAP), at)
    return line if line >= 0 else at


def _snap_up(text: str, at: int) -> int:
    line = text.find("\n", at, at + _SNAP)
    return line + 1 if line >= 0 else at
