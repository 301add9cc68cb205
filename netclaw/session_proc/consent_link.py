"""The supervisor's consents as this process reaches them: asked for at every judgement.

Nothing is kept here, so that a grant that was revoked lets nothing more start (decision 47).
"""

from __future__ import annotations

from netclaw.ports.consents import KnownConsents, NewConsents
from netclaw.session_proc.asks import Asks
from netclaw.wire.consents import (
    ASK_CONSENTS,
    ASK_RECORD,
    decode_known,
    encode_new,
)


class ConsentLink:
    """The `ConsentSource` over the stream to the supervisor."""

    def __init__(self, asks: Asks) -> None:
        self._asks = asks

    async def read(self) -> KnownConsents:
        """See `ConsentSource`. Raises `NetclawError` if there was no answer to use."""
        return decode_known(await self._asks.ask(ASK_CONSENTS))

    async def record(self, added: NewConsents) -> None:
        """See `ConsentSource`."""
        await self._asks.ask(ASK_RECORD, encode_new(added))
