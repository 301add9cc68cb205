"""A really full disk: a clear error, nothing half-written, and work again once there is room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from netclaw.core.errors import StorageFullError
from netclaw.core.settings import StorageSettings
from tests.contracts.journal_world import OTHER, SqliteWorld, recorded, started


def may_mount() -> bool:
    """Whether a private mount namespace can be had, as root or as the root of a user namespace."""
    probe = [*namespace(), "mount", "-t", "tmpfs", "tmpfs", "/tmp"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def namespace() -> list[str]:
    """Starts a program in a mount namespace of its own."""
    return ["unshare", "--mount"] if os.getuid() == 0 else ["unshare", "--mount", "-r"]


@pytest.mark.timeout(60)
@pytest.mark.requirement("store.disk-full")
@pytest.mark.parametrize("way", ["tmpfs", "limit"])
def test_a_full_disk_refuses_clearly_and_loses_nothing(short_tmp: Path, way: str) -> None:
    if way == "tmpfs" and not may_mount():
        way = "limit"
    prefix = namespace() if way == "tmpfs" else []
    child = [sys.executable, "-m", "tests.store.disk_child", str(short_tmp), way]
    done = subprocess.run(
        [*prefix, *child], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    report = SimpleNamespace(**json.loads(done.stdout))
    assert set(report.codes) == {"storage_full"}
    assert report.append == "storage_full"
    assert report.readable >= len(report.acknowledged) - 1
    assert report.resumed == ""
    # Everything acknowledged is there, in its order, and nothing else.
    assert report.stored == report.acknowledged
    assert len(report.acknowledged) > 50
    assert report.heads_fit
    assert report.integrity is None
    if way == "tmpfs":
        assert report.open_on_full == "storage_full"


@pytest.mark.requirement("store.free-space-floor")
async def test_below_the_floor_only_running_turns_may_write(tmp_path: Path) -> None:
    world = SqliteWorld(tmp_path / "netclaw.db")
    await world.open()
    await world.create()
    admitted = await world.admit(message="m1")
    await world.close()
    world.settings = StorageSettings(free_space_floor_bytes=1 << 60)
    await world.open()
    start = await world.start()
    for refused in (world.admit(message="m2"), world.create(OTHER), world.journal.probe_write()):
        with pytest.raises(StorageFullError):
            await refused
    assert (await world.admit(message="m1")).is_duplicate
    turn = started("t1", admitted.input_id)
    await world.append(start, turn, recorded("t1", admitted.input_id))
    assert await world.outcomes() == ["completed"]
    await world.close()
