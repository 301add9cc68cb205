"""How far threads of channels were read: one row for each, written with an admission."""

from __future__ import annotations

from typing import cast

from netclaw.core.ids import SessionId
from netclaw.ports.journal import AdmitRequest
from netclaw.store.connection import Database
from netclaw.store.readers import ReaderPool
from netclaw.store.rows import SessionRow
from netclaw.store.scope import WriteScope

_KEEP = (
    "INSERT INTO bindings (channel, address, session, cursor, created_at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (channel, address) DO UPDATE SET session = excluded.session,"
    " cursor = excluded.cursor"
)
_READ = (
    "SELECT b.cursor FROM bindings AS b JOIN sessions AS s ON s.id = b.session"
    " WHERE s.key = ? AND b.address = s.key"
)


class Threads:
    """The part of the store about threads; see the port for each contract."""

    _readers: ReaderPool

    async def thread_cursor(self, session_id: SessionId) -> str:
        """How far a session's thread was read."""
        return await self._readers.read(lambda db: _cursor(db, session_id))


def keep_cursor(scope: WriteScope, row: SessionRow, request: AdmitRequest) -> None:
    """Write what an admission says about its thread, whose address is the session's id."""
    if request.thread_cursor:
        channel = request.authority.provenance.source_kind.value
        scope.db.run(_KEEP, (channel, row.key, row.id, request.thread_cursor, scope.now))


def _cursor(db: Database, session_id: SessionId) -> str:
    found = db.row(_READ, (session_id,))
    return cast("str", found[0]) if found is not None else ""
