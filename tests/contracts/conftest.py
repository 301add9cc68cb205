"""Both implementations of each port, side by side."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contracts.journal_world import MemoryWorld, SqliteWorld, World


@pytest.fixture(params=["sqlite", "memory"])
async def journal_world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """A new, open journal."""
    if request.param == "memory":
        memory = MemoryWorld()
        await memory.open()
        yield memory
        return
    world = SqliteWorld(tmp_path / "netclaw.db")
    await world.open()
    yield world
    await world.close()
