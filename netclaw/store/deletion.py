"""Removes sessions: out of sight in one write, their rows in pieces that hold nobody else up."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

from netclaw.core.errors import NetclawError
from netclaw.core.ids import SessionId
from netclaw.core.session.events import SessionKind
from netclaw.store import send_table, signal_deletion
from netclaw.store.connection import Database
from netclaw.store.readers import ReaderPool
from netclaw.store.scope import WriteScope
from netclaw.store.writer import GroupWriter

logger = logging.getLogger(__name__)

# A session id holds no control character, so these keys are nobody's.
GRAVE = "\x01deleted/"
GRAVE_END = " "
PIECE_ROWS = 500
_LARGE_TABLES = (
    ("journal", "seq"),
    ("inputs", "seq"),
    ("source_messages", "source_message_id"),
    ("outbox_inputs", "(input_id, reply)"),
    ("outbox", "id"),
    ("consent_requests", "id"),
    ("child_runs", "id"),
)
"""What grows without end, and how one row of a session is named in it."""


class Deletions:
    """Deletes sessions, and finishes what the last use of the file left half removed."""

    def __init__(self, writer: GroupWriter, readers: ReaderPool) -> None:
        self._writer = writer
        self._readers = readers
        self._finishing: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Go on with what is left of earlier deletions, in the background."""
        self._finishing = asyncio.create_task(self._finish())

    async def delete(self, session_id: SessionId) -> None:
        """Remove every row of a session but its life and incarnation."""
        await self._dig(await self._writer.submit(lambda scope: bury(scope, session_id)))

    async def close(self) -> None:
        """Leave the rest for the next use of the file."""
        if self._finishing is not None:
            self._finishing.cancel()
            await asyncio.wait((self._finishing,))

    async def _dig(self, grave: str) -> None:
        while await self._writer.submit(lambda scope: dig_away(scope, grave)):
            pass

    async def _finish(self) -> None:
        try:
            for grave in await self._readers.read(graves):
                await self._dig(grave)
        except NetclawError as error:
            logger.warning("removing deleted sessions is put off: %s", error.code)


def bury(scope: WriteScope, session_id: SessionId) -> str:
    """Take a session out of sight for good; answers the key under which its rows still are.

    Nothing of it can be found, started, sent or created upon any more; `dig_away` removes the rows
    piece by piece, also after a restart, because the key says what they are.
    """
    row = scope.session(session_id)
    if row.kind != SessionKind.CHILD:  # whose key is never used again
        scope.db.run(
            "INSERT INTO tombstones (key, life, incarnation, state_version) VALUES (?, ?, ?, ?)",
            (row.key, row.life, row.incarnation, signal_deletion.former_version(scope, row)),
        )
    signal_deletion.bury(scope, row)
    send_table.session_deleted(scope, row)
    grave = f"{GRAVE}{row.id}"
    scope.db.run(
        "UPDATE sessions SET key = ?, is_quarantined = 0, pending_inputs = 0, pending_answers = 0,"
        " open_runs = 0, untold_jobs = 0, open_turn = NULL, is_start_open = 0, starts_held = 0"
        " WHERE id = ?",
        (grave, row.id),
    )
    scope.db.run(
        "UPDATE consent_requests SET state = 'closed' WHERE session = ? AND state <> 'closed'",
        (row.id,),
    )
    scope.db.run("DELETE FROM bindings WHERE session = ?", (row.id,))
    scope.db.run(
        "UPDATE outbox SET state = 'failed' WHERE session = ? AND state IN ('waiting', 'claimed')",
        (row.id,),
    )
    scope.remove(session_id)
    return grave


def dig_away(scope: WriteScope, grave: str) -> bool:
    """Remove one piece of a buried session; False once nothing is left of it."""
    found = scope.db.row("SELECT id FROM sessions WHERE key = ?", (grave,))
    if found is None:
        return False
    for table, key in _LARGE_TABLES:
        scope.db.run(
            f"DELETE FROM {table} WHERE session = ?1 AND {key} IN"  # noqa: S608 names of our own
            f" (SELECT {key.strip('()')} FROM {table} WHERE session = ?1 LIMIT {PIECE_ROWS})",
            (found[0],),
        )
        if scope.db.connection.changes() > 0:
            return True
    scope.db.run("DELETE FROM sessions WHERE id = ?", (found[0],))
    return False


def graves(db: Database) -> tuple[str, ...]:
    """Buried sessions of which something is left."""
    found = db.rows("SELECT key FROM sessions WHERE key < ?", (GRAVE_END,))
    return tuple(cast("str", key) for (key,) in found)
