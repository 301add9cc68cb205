"""Consents for one chat: kept in memory until the session's reset, delete or the daemon's stop.

They survive passivation and a crash of the session's process (decision 47). A child run uses those
of the sessions above it; its own reach nobody else (reference 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netclaw.core.authz.grants import ChatGrant
from netclaw.core.errors import TooLargeError
from netclaw.core.ids import SessionId

CHILD_MARK = "/sub/"
AT_MOST = 2000
"""Grants of one chat; nobody consents that often."""


class ChatGrants:
    """The chat grants of all sessions."""

    def __init__(self) -> None:
        self._by_session: dict[SessionId, dict[ChatGrant, None]] = {}

    def add(self, session_id: SessionId, grants: Iterable[ChatGrant]) -> None:
        """Remember consents of a chat. Raises `TooLargeError`, then none of them is kept."""
        known = self._by_session.get(session_id, {}) | dict.fromkeys(grants)
        if len(known) > AT_MOST:
            raise TooLargeError(
                "This chat has too many consents.",
                fix="Choose a wider consent, or begin anew with `netclaw sessions reset`.",
            )
        if known:
            self._by_session[session_id] = known

    def of(self, session_id: SessionId) -> frozenset[ChatGrant]:
        """What covers calls of a session: its own and those of the sessions above it."""
        found: set[ChatGrant] = set()
        for owner in _lineage(session_id):
            found |= self._by_session.get(owner, {}).keys()
        return frozenset(found)

    def forget(self, session_id: SessionId) -> None:
        """The session begins a new life, or is no more; so do its child runs."""
        below = session_id + CHILD_MARK
        for owner in [*self._by_session]:
            if owner == session_id or owner.startswith(below):
                del self._by_session[owner]

    def revoke(self, session_id: SessionId, gone: Iterable[ChatGrant]) -> None:
        """Take consents of one chat back."""
        known = self._by_session.get(session_id, {})
        for grant in gone:
            known.pop(grant, None)
        if not known:
            self._by_session.pop(session_id, None)

    def __iter__(self) -> Iterator[tuple[SessionId, ChatGrant]]:
        """Every chat grant with its session, in the order in which they were given."""
        for session_id, grants in self._by_session.items():
            for grant in grants:
                yield session_id, grant


def _lineage(session_id: SessionId) -> Iterator[SessionId]:
    """The session and those above it, nearest first."""
    yield session_id
    while CHILD_MARK in session_id:
        session_id = SessionId(session_id.rpartition(CHILD_MARK)[0])
        yield session_id
