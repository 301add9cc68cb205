"""What goes from the signal log with a session: everything about it, in both directions.

A child run's own session goes as soon as its parent was told of it, while what is known of the run
stays until it is pruned or the parent is deleted.
"""

from __future__ import annotations

import apsw

from netclaw.core.ids import SessionId
from netclaw.core.session.events import SessionKind
from netclaw.store import signal_log, watch_table
from netclaw.store.rows import SessionRow
from netclaw.store.scope import WriteScope
from netclaw.store.signal_book import SignalBook

_OF_SESSION = (
    "DELETE FROM session_state_events WHERE session_key = ?",
    "DELETE FROM session_state_heads WHERE session_key = ?",
    "DELETE FROM session_upstream_links WHERE session_key = ?",
)
_OF_RUNS = (
    "DELETE FROM session_state_events WHERE session_key >= ? AND session_key < ?",
    "DELETE FROM session_state_heads WHERE session_key >= ? AND session_key < ?",
)


def former_version(scope: WriteScope, row: SessionRow) -> int:
    """Up to where somebody may have known the session, in this life or an earlier one."""
    try:
        return signal_log.head(scope.db, SessionId(row.key)).former_version
    except apsw.SQLError as error:
        scope.signal_health.failed(error)
        return row.state_version


def bury(scope: WriteScope, row: SessionRow) -> None:
    """Remove what concerns a session that is deleted; of a child run, only what it watches."""
    key = SessionId(row.key)

    def work(book: SignalBook) -> None:
        watch_table.remove(scope.db, book, watch_table.of_watcher(scope.db, key))
        if row.kind == SessionKind.CHILD:
            return
        watch_table.remove(scope.db, book, watch_table.of_target(scope.db, key))
        for sql in _OF_SESSION:
            scope.db.run(sql, (key,))
        runs = (f"{key}/sub/", f"{key}/sub0")  # everything that begins with the former
        watch_table.remove(scope.db, book, watch_table.towards(scope.db, *runs))
        for sql in _OF_RUNS:
            scope.db.run(sql, runs)

    signal_log.attempt(scope, work)
