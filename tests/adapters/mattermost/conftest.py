"""The fake and a driver of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from netclaw.adapters.mattermost.driver import MattermostDriver
from tests.adapters.mattermost.rig import make_driver
from tests.adapters.rig import Inbox, open_inbox
from tests.fakes.mattermost import MattermostServer


@pytest.fixture
async def mattermost() -> AsyncIterator[MattermostServer]:
    """A server."""
    async with MattermostServer() as server:
        yield server


@pytest.fixture
async def driver(mattermost: MattermostServer) -> AsyncIterator[MattermostDriver]:
    """A driver with the right token."""
    made = make_driver(mattermost)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def inbox(driver: MattermostDriver) -> AsyncIterator[Inbox]:
    """The driver's events; it is connected."""
    async with open_inbox(driver) as made:
        yield made
