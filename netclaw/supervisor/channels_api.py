"""The part of the public service that is for adapters alone."""

from __future__ import annotations

from netclaw.supervisor.adapters import Adapters
from netclaw.supervisor.callers import Caller
from netclaw.supervisor.rpc import RpcStream
from netclaw.wire.v1 import gateway_pb2 as pb


class GatewayChannels:
    """Mixed into `Gateway`."""

    adapters: Adapters
    """Put in by the daemon before it serves."""

    async def get_channel(self, _request: pb.GetChannelRequest, caller: Caller) -> pb.ChannelSetup:
        """The section of the caller's own channel, with the platform's tokens."""
        return self.adapters.of(caller).setup()

    async def report_channel(self, stream: RpcStream, caller: Caller) -> None:
        """Reports of an adapter, and news for it."""
        await self.adapters.of(caller).converse(stream)
