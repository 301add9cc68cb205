"""A store on a real file, and short words for filling it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contracts.journal_world import SqliteWorld


@pytest.fixture
async def sqlite_world(tmp_path: Path) -> AsyncIterator[SqliteWorld]:
    """A new, open store with one session."""
    world = SqliteWorld(tmp_path / "netclaw.db")
    await world.open()
    await world.create()
    yield world
    await world.close()
