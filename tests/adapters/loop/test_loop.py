"""The loop channel passes what every channel must."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.adapters.contract import DriverContract
from tests.adapters.loop.rig import LoopRig
from tests.adapters.loop.server import LoopServer
from tests.adapters.rig import Rig


@pytest.mark.requirement("channel_host.fourth")
class TestLoop(DriverContract):
    """A channel of another package."""

    @pytest.fixture
    async def rig(self) -> AsyncIterator[Rig]:
        """Its platform."""
        async with LoopServer() as server:
            yield LoopRig(server)
