"""A supervisor in this process for every test that asks for one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.supervisor.world import InProcess


@pytest.fixture
async def world() -> AsyncIterator[InProcess]:
    """A running supervisor with sessions that echo."""
    async with InProcess() as made:
        yield made
