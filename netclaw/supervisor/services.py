"""What the parts of the supervisor share; made once by `main`, passed by hand, never global."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from netclaw.ports.journal import JournalStore
from netclaw.ports.spawner import Spawner
from netclaw.supervisor.envelope import Envelopes
from netclaw.supervisor.ids import now_ms
from netclaw.supervisor.settings import LiveSettings
from netclaw.supervisor.storage_health import StorageHealth
from netclaw.supervisor.tasks import Tasks
from netclaw.wire.replay import Redact


def _show_as_is(text: str) -> str:
    return text


@dataclass(slots=True, kw_only=True)
class Services:
    """The shared parts of one daemon."""

    home: Path
    store: JournalStore
    spawner: Spawner
    tasks: Tasks
    settings: LiveSettings
    health: StorageHealth
    envelopes: Envelopes
    generation: int = 1
    """Runs of the supervisor inside this pid."""
    sandbox_facts: bytes = b""
    """JSON of what the sandbox proved at start; part of every Welcome."""
    now_ms: Callable[[], int] = now_ms
    redact: Redact = _show_as_is
    """Removes secrets from journal text that is shown again."""
    sandbox_status: Mapping[str, str] = field(default_factory=dict)
    """backend, limits and why, for `daemon status`."""
