"""Mattermost's driver needs no platform's library, and brings none into its process."""

from __future__ import annotations

import subprocess
import sys

import pytest

OTHERS = (
    *("apsw", "discord", "netclaw.config", "netclaw.supervisor", "pydantic", "requests"),
    *("slack_bolt", "slack_sdk", "websockets"),
)


@pytest.mark.requirement("channels_mattermost.memory")
def test_the_driver_loads_no_library_of_another_channel() -> None:
    program = (
        "import netclaw.adapters.process, netclaw.adapters.mattermost, sys;"
        f" print([name for name in {OTHERS!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
