"""A home, a scripted daemon, and the command line in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from netclaw.config.home import Home, find_home
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon


@pytest.fixture
def home(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The home that this process's environment names; it does not exist yet."""
    root = short_tmp / "home"
    monkeypatch.setenv("NETCLAW_HOME", str(root))
    monkeypatch.delenv("NETCLAW_DAEMON_PATH", raising=False)
    return find_home({"NETCLAW_HOME": str(root)})


@pytest.fixture
def cli(home: Home, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs commands in this process."""
    return Cli(home, capsys)


@pytest.fixture
def daemon(home: Home) -> Iterator[ScriptedDaemon]:
    """A scripted daemon that listens."""
    with ScriptedDaemon(home) as made:
        yield made


@pytest.fixture
def fast_reconnects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reconnects take hundredths of their seconds."""
    for module in ("feed", "link"):
        monkeypatch.setattr(
            f"netclaw.cli.chat.{module}.RECONNECT_DELAYS_S", (0.01, 0.02, 0.05, 0.1)
        )
