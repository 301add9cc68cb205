"""Cuts a session's history into answers that a client can take, newest first.

The history only grows at its end, so a place in it stays valid until a compaction or a reset puts
another one in its stead; a cursor names the history it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from netclaw.core.errors import InvalidArgumentError
from netclaw.core.messages import Message
from netclaw.core.session.state import SessionState
from netclaw.supervisor.rows import history_item
from netclaw.wire.batches import PUBLIC_LIMIT, split_item
from netclaw.wire.replay import Redact
from netclaw.wire.v1.gateway_pb2 import GetHistoryResponse, HistoryItem

_ROOM_FOR_CURSOR = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cursor:
    """What is still to be told: messages from `first` up to `last`, of that only `pieces`."""

    first: int
    last: int
    pieces: int
    """Pieces of the message `last` that were not told, counted from its beginning."""
    history: str

    @classmethod
    def parse(cls, text: str, state: SessionState) -> Self:
        """Read a cursor; raises `InvalidArgumentError` for one that is none or not valid now."""
        numbers, _, history = text.partition("@")
        try:
            first, last, pieces = map(int, numbers.split("."))
        except ValueError:
            raise InvalidArgumentError(f"{text!r} is no place in a history.") from None
        if history != _name_of(state) or not 0 <= first <= last < len(state.history):
            raise InvalidArgumentError(
                "The history was compacted or reset since its last part was read.",
                fix="Read it again from its newest item.",
            )
        return cls(first=first, last=last, pieces=pieces, history=history)

    def __str__(self) -> str:
        return f"{self.first}.{self.last}.{self.pieces}@{self.history}"


def history_page(
    state: SessionState, *, before: str, limit: int, redact: Redact
) -> GetHistoryResponse:
    """The newest items that were asked for and fit into one message.

    `limit` 0 means all of them; it counts with the first page only. Raises
    `InvalidArgumentError` for a `before` that no page of the present history gave.
    """
    messages = state.history
    if before:
        cursor = _Cursor.parse(before, state)
    else:
        first = max(0, len(messages) - limit) if limit else 0
        cursor = _Cursor(first=first, last=len(messages) - 1, pieces=0, history=_name_of(state))
    found, rest = _collect(messages, cursor, is_begun=bool(before), redact=redact)
    return GetHistoryResponse(items=found[::-1], before=str(rest) if rest is not None else "")


def _collect(
    messages: Sequence[Message], cursor: _Cursor, *, is_begun: bool, redact: Redact
) -> tuple[list[HistoryItem], _Cursor | None]:
    """Pieces from the newest on, and where the rest begins."""
    found: list[HistoryItem] = []
    size = _ROOM_FOR_CURSOR
    for place in range(cursor.last, cursor.first - 1, -1):
        pieces = split_item(history_item(messages[place], redact))
        if is_begun and place == cursor.last:
            pieces = pieces[: cursor.pieces]
        while pieces:
            size += pieces[-1].ByteSize() + 8
            if size > PUBLIC_LIMIT and found:
                rest = _Cursor(
                    first=cursor.first, last=place, pieces=len(pieces), history=cursor.history
                )
                return found, rest
            found.append(pieces.pop())
    return found, None


def _name_of(state: SessionState) -> str:
    """Tells this history from those before a compaction or a reset."""
    return f"{state.life}-{state.history[0].at if state.history else 0}"
