"""Slack's driver passes what every channel's must."""

from __future__ import annotations

import pytest

from tests.adapters.contract import DriverContract
from tests.adapters.rig import Rig
from tests.adapters.slack.rig import SlackRig
from tests.fakes.slack import SlackServer


@pytest.mark.requirement("channel_host.contract")
class TestSlack(DriverContract):
    """The real library against the fake."""

    @pytest.fixture
    def rig(self, slack: SlackServer) -> Rig:
        """Its platform."""
        return SlackRig(slack)
