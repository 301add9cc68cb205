"""Where a session reads the consents there are, and hands over what an answer adds to them.

The supervisor is the one keeper of both kinds (decision 47). A session asks at every check, so
that a revocation counts at once; it keeps nothing between two checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from netclaw.core.authz.grants import ChatGrant, Grant, GrantStore


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownConsents:
    """What the supervisor knew when it was asked: chat grants of this session, and the store."""

    chat: frozenset[ChatGrant] = frozenset()
    store: GrantStore = field(default_factory=GrantStore)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewConsents:
    """What one answer adds. Saving what is there already changes nothing."""

    chat: tuple[ChatGrant, ...] = ()
    persistent: tuple[Grant, ...] = ()


class ConsentSource(Protocol):
    """The supervisor's consents, as a session process reaches them."""

    async def read(self) -> KnownConsents:
        """The consents of this moment; a store that cannot be read says so in its `fault`."""

    async def record(self, added: NewConsents) -> None:
        """Returns once it is durable. Raises `NetclawError` if it could not be saved."""
