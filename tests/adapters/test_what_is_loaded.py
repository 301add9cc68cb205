"""An adapter process loads what it needs, and of the platforms' libraries none before its own."""

from __future__ import annotations

import pytest

from tests.loading import loaded

LARGE = (
    *("apsw", "discord", "mcp", "netclaw.config", "netclaw.session_proc", "netclaw.store"),
    *("netclaw.supervisor", "pydantic", "slack_bolt", "slack_sdk"),
)


@pytest.mark.requirement("channel_host.process")
def test_the_host_brings_no_library_of_a_platform_and_no_part_of_the_daemon() -> None:
    assert loaded("netclaw.adapters.process", LARGE) == []
