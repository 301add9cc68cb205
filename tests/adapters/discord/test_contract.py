"""Discord's driver passes what every channel's must."""

from __future__ import annotations

import pytest

from tests.adapters.contract import DriverContract
from tests.adapters.discord.rig import DiscordRig
from tests.adapters.rig import Rig
from tests.fakes.discord import DiscordServer


@pytest.mark.requirement("channel_host.contract")
class TestDiscord(DriverContract):
    """The real library against the fake."""

    @pytest.fixture
    def rig(self, server: DiscordServer) -> Rig:
        """Its platform."""
        return DiscordRig(server)
