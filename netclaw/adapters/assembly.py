"""Makes the parts of one adapter process, in the order in which they need each other."""

from __future__ import annotations

import asyncio

from netclaw.adapters.driver import Clicked, Incoming, Received
from netclaw.adapters.parts import HostContext, Parts


def assemble(context: HostContext) -> Parts:
    """The parts of this process."""
    return Parts(ingress=Refusing(context), outbound=Silent(), prompts=Silent(), progress=Silent())


class Refusing:
    """An ingress that serves nobody: default deny, until a place and a person are allowed."""

    def __init__(self, context: HostContext) -> None:
        self._counters = context.counters

    async def take(self, incoming: Incoming) -> None:
        """Count the message and have done with it."""
        self._counters.received += 1
        self._counters.denied += 1
        await incoming.acknowledge()


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

    def phase(self, session_id: str, phase: str) -> None:
        """Nothing is shown."""
