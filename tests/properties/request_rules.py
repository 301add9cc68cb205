"""What the table of consent requests says of a journal, beside what the session's rules say."""

from __future__ import annotations

import json

from netclaw.core.session.consent import is_waiting
from netclaw.core.session.events import Recorded
from netclaw.core.session.state import SessionState
from netclaw.ports.journal import JournalRow
from netclaw.testing.memory_consents import MemoryConsents
from netclaw.testing.memory_session import draft_of


class OpenRequests:
    """Follows a journal as the store does."""

    def __init__(self) -> None:
        self.table = MemoryConsents()

    def check(self, row: Recorded, state: SessionState) -> None:
        """Follow one event; `state` is the session's after it."""
        draft = draft_of(row.event)
        stored = JournalRow(
            seq=row.seq,
            at=row.at,
            type=draft.type,
            version=draft.version,
            incarnation=row.incarnation,
            cause=row.cause,
            payload=draft.payload,
        )
        self.table.follow(stored, json.loads(draft.payload))
        if not state.answers:
            # With an answer on its way the table knows it is answered, the session not yet.
            listed = sorted(item.request.call_id for item in self.table.open)
            assert listed == waiting(state), f"after {row.event}"


def waiting(state: SessionState) -> list[str]:
    """The calls that wait for a person by the session's own rules, its runs' included."""
    batch = state.turn.batch if state.turn is not None else ()
    calls = [item.call.call_id for item in batch if is_waiting(item)]
    for run in state.children:
        calls += [asked.request.call_id for asked in run.unanswered]
    return sorted(calls)
