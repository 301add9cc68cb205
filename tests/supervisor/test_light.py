"""What the supervisor loads: memory and start-up time are promises."""

from __future__ import annotations

import pytest

from tests.loading import loaded

HEAVY = ("aiohttp", "anthropic", "discord", "httpx", "litellm", "mcp", "openai", "slack_bolt")


@pytest.mark.requirement("supervisor.light")
def test_the_supervisor_loads_nothing_heavy() -> None:
    assert loaded("netclaw.supervisor.main", HEAVY) == []
