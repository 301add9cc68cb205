"""Consents in memory: what the supervisor would keep for one session."""

from __future__ import annotations

from netclaw.core.authz.grants import ChatGrant, Grant, GrantStore
from netclaw.core.errors import NetclawError
from netclaw.ports.consents import KnownConsents, NewConsents


class MemoryConsents:
    """The `ConsentSource` of a test; it may be told to fail, and grants may be taken away."""

    def __init__(self) -> None:
        self.chat: set[ChatGrant] = set()
        self.grants: list[Grant] = []
        self.store_fault: str | None = None
        self.read_error: NetclawError | None = None
        self.record_error: NetclawError | None = None
        self.reads = 0

    async def read(self) -> KnownConsents:
        """Everything there is now."""
        self.reads += 1
        if self.read_error is not None:
            raise self.read_error
        store = GrantStore(grants=tuple(self.grants), fault=self.store_fault)
        return KnownConsents(chat=frozenset(self.chat), store=store)

    async def record(self, added: NewConsents) -> None:
        """Keeps it."""
        if self.record_error is not None:
            raise self.record_error
        self.chat.update(added.chat)
        self.grants.extend(added.persistent)

    def revoke_all(self) -> None:
        """Nothing is granted any more."""
        self.chat.clear()
        self.grants.clear()
