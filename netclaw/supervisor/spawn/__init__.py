"""Starting, watching and cleaning up after session processes on this machine.

Imports nothing itself: the zygote runs from this package and must stay small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netclaw.supervisor.spawn.local_spawner import LocalSpawner


def make_spawner(*, use_zygote: bool = True) -> LocalSpawner:
    """Return the spawner of this machine; call it on the main thread, inside the running loop."""
    from netclaw.supervisor.spawn.local_spawner import LocalSpawner

    return LocalSpawner(use_zygote=use_zygote)
