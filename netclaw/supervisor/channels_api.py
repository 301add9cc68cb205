"""The part of the public service that is for adapters alone."""

from __future__ import annotations

from netclaw.core.authority import DeliveryTarget
from netclaw.core.ids import TurnId, parse_session_id
from netclaw.supervisor.adapters import Adapters
from netclaw.supervisor.attached_files import read_attached
from netclaw.supervisor.callers import Caller
from netclaw.supervisor.channel_desk import ChannelDesk
from netclaw.supervisor.gateway_reads import GatewayReads
from netclaw.supervisor.rpc import RpcStream
from netclaw.wire.v1 import gateway_pb2 as pb


class GatewayChannels(GatewayReads):
    """Mixed into `Gateway`."""

    adapters: Adapters
    """Put in by the daemon before it serves."""

    def serve_channels(self, adapters: Adapters) -> None:
        """Take the adapters in, and answer what sessions ask of them."""
        self.adapters = adapters
        desk = ChannelDesk(self._services, self._router, adapters)
        self._services.desks = (*self._services.desks, desk)

    async def get_channel(self, _request: pb.GetChannelRequest, caller: Caller) -> pb.ChannelSetup:
        """The section of the caller's own channel, with the platform's tokens."""
        return self.adapters.of(caller).setup()

    async def report_channel(self, stream: RpcStream, caller: Caller) -> None:
        """Reports of an adapter, and news for it."""
        await self.adapters.of(caller).converse(stream)

    async def fetch_file(
        self, request: pb.FetchFileRequest, caller: Caller, stream: RpcStream
    ) -> None:
        """The bytes of a claimed file."""
        self.adapters.of(caller)
        session_id, file = await self._services.store.claimed_file(
            request.row_id, claimant=self._claimant(request.adapter_start, caller)
        )
        record = await self._router.record(session_id)
        storage = self._services.envelopes.storage(session_id, record)
        async for piece in read_attached(storage, file.path):
            await stream.write(pb.FilePiece(data=piece))

    async def find_reply(
        self, request: pb.FindReplyRequest, caller: Caller
    ) -> pb.FindReplyResponse:
        """Where a turn's reply stands: the turn is looked at first, because its end makes one."""
        adapter = self.adapters.of(caller)
        record = await self._services.store.get_session(parse_session_id(request.session_id))
        if record is not None and record.open_turn == request.turn_id:
            return pb.FindReplyResponse(state="running")
        target = DeliveryTarget(channel=adapter.source, address=request.address)
        is_open = record is not None and await self._services.store.is_reply_open(
            record.session_id, TurnId(request.turn_id), target
        )
        return pb.FindReplyResponse(state="waiting" if is_open else "none")
