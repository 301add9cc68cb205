"""The outbox as the in-memory journal offers it; see the port for each contract."""

from __future__ import annotations

from netclaw.core.authority import DeliveryTarget
from netclaw.core.ids import CallId, SessionId, TurnId
from netclaw.core.session.inter_session import check_sender
from netclaw.core.tool_call import Attachment
from netclaw.ports.outbox import Opening, OpeningRequest, OutboxItem
from netclaw.testing.memory_commit import MemoryCommitter
from netclaw.testing.memory_data import MemoryData
from netclaw.testing.memory_session import MemorySession


class MemoryOutboxLists:
    """Mixed into `MemoryJournal`."""

    _data: MemoryData
    _committer: MemoryCommitter

    def _known(self, session_id: SessionId) -> MemorySession:
        raise NotImplementedError

    async def claim_outbox(
        self, channel: str, *, limit: int, claimant: str, at: int
    ) -> tuple[OutboxItem, ...]:
        """Claim due rows."""
        return await self._committer.write(
            lambda: self._data.outbox.claim(channel, limit=limit, claimant=claimant, at=at)
        )

    async def next_outbox_at(self, channel: str, *, claimant: str) -> int | None:
        """When there is something to claim."""
        return self._data.outbox.next_at(channel, claimant=claimant)

    async def confirm_outbox(
        self,
        row_id: int,
        *,
        claimant: str,
        external_id: str,
        failure: str,
        next_attempt_at: int,
    ) -> None:
        """Close a row, or schedule it again."""
        await self._committer.write(
            lambda: self._data.outbox.confirm(
                row_id,
                claimant=claimant,
                external_id=external_id,
                failure=failure,
                next_attempt_at=next_attempt_at,
            )
        )

    async def open_thread(self, request: OpeningRequest) -> Opening:
        """Put a message that begins a thread into the outbox."""

        def work() -> Opening:
            session = self._known(request.session_id)
            known = self._data.outbox.opening(request.session_id, request.call_id)
            if known is not None:
                return known
            check_sender(session.open_turn, request.turn_id)
            return self._data.outbox.open(request)

        return await self._committer.write(work)

    async def find_opening(self, session_id: SessionId, call_id: CallId) -> Opening | None:
        """What became of the message of a call."""
        return self._data.outbox.opening(session_id, call_id)

    async def claimed_file(self, row_id: int, *, claimant: str) -> tuple[SessionId, Attachment]:
        """The file of a row that is claimed."""
        return self._data.outbox.file(row_id, claimant=claimant)

    async def is_reply_open(
        self, session_id: SessionId, turn_id: TurnId, target: DeliveryTarget
    ) -> bool:
        """Whether a reply of a turn is on its way."""
        return self._data.outbox.is_reply_open(session_id, turn_id, target)
