"""Mattermost's driver needs no platform's library, and brings none into its process."""

from __future__ import annotations

import pytest

from tests.loading import loaded

OTHERS = (
    *("apsw", "discord", "netclaw.config", "netclaw.supervisor", "pydantic", "requests"),
    *("slack_bolt", "slack_sdk", "websockets"),
)


@pytest.mark.requirement("channels_mattermost.memory")
def test_the_driver_loads_no_library_of_another_channel() -> None:
    assert loaded("netclaw.adapters.process, netclaw.adapters.mattermost", OTHERS) == []
