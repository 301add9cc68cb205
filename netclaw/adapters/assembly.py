"""Makes the parts of one adapter process, in the order in which they need each other."""

from __future__ import annotations

import asyncio

from netclaw.adapters.driver import Clicked, Received
from netclaw.adapters.ingress import Pipeline
from netclaw.adapters.outbound import Deliveries
from netclaw.adapters.parts import HostContext, Parts
from netclaw.wire.v1.gateway_pb2 import ChannelNews


def assemble(context: HostContext) -> Parts:
    """The parts of this process."""
    prompts = Silent()
    ingress = Pipeline(context, prompts.take_letter)
    return Parts(ingress=ingress, outbound=Deliveries(context), prompts=prompts, progress=Silent())


class Silent:
    """A part for what a channel does not do: no replies, no prompts, no signs of work."""

    async def run(self) -> None:
        """Wait for the end."""
        await asyncio.Event().wait()

    def look(self) -> None:
        """Nothing is looked at."""

    async def settle(self) -> None:
        """Nothing is under way."""

    async def click(self, clicked: Clicked) -> None:
        """No button is ours."""

    async def take_letter(self, received: Received) -> bool:
        """No message answers a prompt."""
        del received
        return False

    def phase(self, news: ChannelNews) -> None:
        """Nothing is shown."""
