"""The fake and a driver of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from netclaw.adapters.discord.driver import DiscordDriver
from tests.adapters.discord.rig import make_driver
from tests.adapters.rig import Inbox, open_inbox
from tests.fakes.discord import DiscordServer


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    """A Discord server."""
    async with DiscordServer() as made:
        yield made


@pytest.fixture
async def driver(server: DiscordServer) -> AsyncIterator[DiscordDriver]:
    """A driver with the right token."""
    made = make_driver(server)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def inbox(driver: DiscordDriver) -> AsyncIterator[Inbox]:
    """The driver's events; it is connected."""
    async with open_inbox(driver) as made:
        yield made
