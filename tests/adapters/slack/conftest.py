"""The fake and a driver of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from netclaw.adapters.slack.driver import SlackDriver
from tests.adapters.rig import Inbox, open_inbox
from tests.adapters.slack.rig import make_driver
from tests.fakes.slack import SlackServer


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    """A workspace."""
    async with SlackServer() as server:
        yield server


@pytest.fixture
async def driver(slack: SlackServer) -> AsyncIterator[SlackDriver]:
    """A driver with the right tokens."""
    made = make_driver(slack)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def inbox(driver: SlackDriver) -> AsyncIterator[Inbox]:
    """The driver's events; it is connected."""
    async with open_inbox(driver) as made:
        yield made
