"""Worlds for process tests; every test gets more time than a unit test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.process.world import World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A home with a running daemon."""
    async with World() as made:
        await made.start()
        yield made
