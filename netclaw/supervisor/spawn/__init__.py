"""Starting, watching and cleaning up after session processes on this machine."""

from __future__ import annotations

from netclaw.supervisor.spawn.local_spawner import LocalSpawner, stop_leftovers

__all__ = ["LocalSpawner", "make_spawner", "stop_leftovers"]


def make_spawner(*, use_zygote: bool = True) -> LocalSpawner:
    """Return the spawner of this machine; call it on the main thread, inside the running loop."""
    return LocalSpawner(use_zygote=use_zygote)
