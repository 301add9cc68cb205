"""Mattermost's driver passes what every channel's must."""

from __future__ import annotations

import pytest

from tests.adapters.contract import DriverContract
from tests.adapters.mattermost.rig import MattermostRig
from tests.adapters.rig import Rig
from tests.fakes.mattermost import MattermostServer


@pytest.mark.requirement("channel_host.contract")
class TestMattermost(DriverContract):
    """Our own client against the fake."""

    @pytest.fixture
    def rig(self, mattermost: MattermostServer) -> Rig:
        """Its platform."""
        return MattermostRig(mattermost)
