"""Answers what session processes ask about consents (`Ask` kinds `consents`, `record_consents`).

A session is told what its audience and narrower ones may rely on, and may add to its own audience
alone: no process can widen what another audience may do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path

from netclaw.core.authority import Audience, narrower
from netclaw.core.authz.grants import GrantStore
from netclaw.core.errors import DeniedByPolicyError, InvalidArgumentError
from netclaw.core.ids import SessionId
from netclaw.ports.consents import KnownConsents
from netclaw.supervisor.chat_grants import ChatGrants
from netclaw.supervisor.grant_store import GrantKeeper
from netclaw.wire.consents import ASK_CONSENTS, ASK_RECORD, decode_new, encode_known

_log = logging.getLogger(__name__)

MAX_RECORD_BYTES = 1024 * 1024
"""Of one record: a request asks for at most some hundred phrases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Which session's process asks, as the database knows it.

    A child run relies on the consents of its parent's chat too; its own reach nobody else.
    """

    session_id: SessionId
    audience: Audience


class Consents:
    """What the daemon knows of consents: stored grants, and those of chats."""

    def __init__(self, grants_path: Path) -> None:
        self.stored = GrantKeeper(grants_path)
        self.chats = ChatGrants()
        self._kinds: dict[str, Callable[[Asker, bytes], Coroutine[None, None, bytes]]] = {
            ASK_CONSENTS: self._read,
            ASK_RECORD: self._record,
        }

    async def answer(self, asker: Asker, kind: str, payload: bytes) -> bytes:
        """Answer one question; raises a `NetclawError` to refuse it."""
        handler = self._kinds.get(kind)
        if handler is None:
            raise InvalidArgumentError(f"The supervisor knows no question {kind!r}.")
        return await handler(asker, payload)

    async def _read(self, asker: Asker, payload: bytes) -> bytes:
        del payload
        store = await self.stored.read()
        usable = tuple(grant for grant in store.grants if _is_theirs(asker, grant.audience))
        return encode_known(
            KnownConsents(
                chat=self.chats.of(asker.session_id),
                store=GrantStore(grants=usable, fault=store.fault),
            )
        )

    async def _record(self, asker: Asker, payload: bytes) -> bytes:
        if len(payload) > MAX_RECORD_BYTES:
            raise InvalidArgumentError("The new consents are too large.")
        added = decode_new(payload)
        _check_audience(
            asker,
            {item.audience for item in added.chat} | {item.audience for item in added.persistent},
        )
        # Before anything is waited for: a reset that comes meanwhile takes them back.
        self.chats.add(asker.session_id, added.chat)
        if added.persistent:
            await self.stored.add(added.persistent)
        return b""


def _is_theirs(asker: Asker, audience: Audience) -> bool:
    return narrower(asker.audience, audience) is audience


def _check_audience(asker: Asker, wanted: set[Audience]) -> None:
    if wanted - {asker.audience}:
        _log.error(
            "the process of session %s (%s) tried to add consents of another audience",
            asker.session_id,
            asker.audience.value,
        )
        raise DeniedByPolicyError("A session adds consents to its own audience alone.")
