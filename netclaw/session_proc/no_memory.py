"""The memory of an installation that has none: everything is taken, nothing is kept."""

from __future__ import annotations

from netclaw.ports.memory import Distillation, MemoryCheckpoint


class NoMemory:
    """Answers at once."""

    async def distil(self, conversation: Distillation) -> None:
        """See `MemoryPort.distil`."""

    async def queue_checkpoint(self, checkpoint: MemoryCheckpoint) -> None:
        """See `MemoryPort.queue_checkpoint`."""
