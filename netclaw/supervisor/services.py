"""What the parts of the supervisor share; made once by `main`, passed by hand, never global."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from netclaw.ports.journal import JournalStore
from netclaw.ports.shell_runner import SandboxFacts
from netclaw.ports.spawner import Spawner
from netclaw.supervisor.consents import Asker, Consents
from netclaw.supervisor.envelope import Envelopes
from netclaw.supervisor.ids import new_id, now_ms
from netclaw.supervisor.job_slots import JobSlots
from netclaw.supervisor.outbox_watch import OutboxWatch
from netclaw.supervisor.settings import LiveSettings
from netclaw.supervisor.storage_health import StorageHealth
from netclaw.supervisor.tasks import Tasks
from netclaw.wire.replay import Redact
from netclaw.wire.sandbox_facts import UNKNOWN


class Questions(Protocol):
    """Answers what processes ask about one subject; made after what it needs for that."""

    def takes(self, kind: str) -> bool:
        """Whether a question of this kind is about its subject."""

    async def answer(self, asker: Asker, kind: str, payload: bytes) -> bytes:
        """Answer one question; raises a `NetclawError` to refuse it."""


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
    consents: Consents
    job_slots: JobSlots = field(init=False)
    desks: tuple[Questions, ...] = ()
    """Who answers what no part named above does."""
    outbox_watch: OutboxWatch = field(default_factory=OutboxWatch)
    pid: int = field(default_factory=os.getpid)
    generation: int = 1
    """Runs of the supervisor inside this pid."""
    start_id: str = field(default_factory=new_id)
    """Names this start of the supervisor; claims of another one have lapsed."""
    sandbox: SandboxFacts = UNKNOWN
    """What was proved at start; part of every Welcome and of the status."""
    now_ms: Callable[[], int] = now_ms
    redact: Redact = _show_as_is
    """Removes secrets from journal text that is shown again."""

    def __post_init__(self) -> None:
        """Make what is made of the other parts."""
        self.job_slots = JobSlots(self.tasks)
