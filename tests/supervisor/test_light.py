"""What the supervisor loads: memory and start-up time are promises."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("aiohttp", "anthropic", "discord", "httpx", "litellm", "mcp", "openai", "slack_bolt")


@pytest.mark.requirement("supervisor.light")
def test_the_supervisor_loads_nothing_heavy() -> None:
    program = (
        "import sys, netclaw.supervisor.main\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True
    )
    assert shown.stdout.strip() == "[]"
