"""A daemon with the loop channel, and the platform it is connected to."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from netclaw.wire.v1.admin_pb2 import AdapterRow, StatusResponse
from tests.adapters.loop.server import LoopServer
from tests.adapters.process.installed import with_loop_channel
from tests.process.world import World


@dataclass
class Channels:
    """One daemon and one platform."""

    world: World
    server: LoopServer

    def section(self, **more: object) -> dict[str, Any]:
        """The loop channel, enabled."""
        return {
            "Enabled": True,
            "BotToken": self.server.token,
            "DefaultChannelId": "room",
            "AllowedUserIds": ["ann"],
            "Options": {"server_url": self.server.url},
            **more,
        }

    async def begin(self, **channels: object) -> None:
        """Start the daemon with these sections of `Channels`."""
        self.world.write_config({**self.world._config, "Channels": channels})
        await self.world.start()

    def edit(self, **channels: object) -> None:
        """Have these sections of `Channels` from now on."""
        self.world.edit_config({"Channels": channels})

    async def until(self, channel: str, state: str) -> AdapterRow:
        """Wait until an adapter is in a state; bounded."""
        return _row(
            await self.world.peer.wait_status(
                lambda status: any(
                    row.channel == channel and row.state == state for row in status.adapters
                )
            ),
            channel,
        )

    async def row(self, channel: str) -> AdapterRow:
        """An adapter as of now."""
        return _row(await self.world.peer.status(), channel)

    def log(self, channel: str = "loop") -> str:
        """What an adapter wrote to its log."""
        path = self.world.home / "logs" / f"adapter-{channel}.log"
        return path.read_text() if path.exists() else ""


def _row(status: StatusResponse, channel: str) -> AdapterRow:
    return next(row for row in status.adapters if row.channel == channel)


@pytest.fixture(scope="session")
def python() -> Iterator[Path]:
    """An interpreter that finds the loop channel."""
    folder = Path(tempfile.mkdtemp(prefix="nc-py-", dir="/tmp"))
    yield with_loop_channel(folder)
    shutil.rmtree(folder)


@pytest.fixture
async def channels(python: Path) -> AsyncIterator[Channels]:
    """A platform, and a daemon that was not started yet."""
    async with LoopServer() as server, World(launcher=(str(python),)) as world:
        yield Channels(world, server)
