"""Hands an operator's wish to end a child run to the session that asked for the run."""

from __future__ import annotations

import asyncio

from netclaw.core.errors import (
    InvalidArgumentError,
    NotFoundError,
    OperationTimeoutError,
    QuarantinedError,
)
from netclaw.core.ids import RunId
from netclaw.core.session.child_effects import CancelAnswer
from netclaw.ports.child_records import ChildRecord
from netclaw.ports.children import ChildCancelled
from netclaw.supervisor.router import Router
from netclaw.supervisor.slot import SlotState
from netclaw.wire import children as said
from netclaw.wire.v1.session_host_pb2 import HostCommand

CANCEL_WITHIN_S = 15.0
"""How long an operator's cancel waits until it is durable."""


class ChildCancels:
    """All cancels of operators that a parent has not answered yet."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._waiting: dict[RunId, list[asyncio.Future[CancelAnswer]]] = {}

    def hear(self, word: ChildCancelled) -> None:
        """A parent tells what became of it."""
        for waiter in self._waiting.pop(word.run_id, []):
            if not waiter.done():
                waiter.set_result(word.answer)

    async def cancel(self, record: ChildRecord, *, actor: str) -> None:
        """Have a run's parent end it; returns once that is durable.

        Raises `InvalidArgumentError` for a run that is over or being cancelled, `NotFoundError`
        for one its parent does not know, `QuarantinedError` if its parent does not run.
        """
        slot = self._router.slot(record.session_id)
        if slot.hold is not None:
            raise QuarantinedError("The session of this run is held and does not run.")
        answered: asyncio.Future[CancelAnswer] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(record.run_id, []).append(answered)
        try:
            async with asyncio.timeout(CANCEL_WITHIN_S):
                if slot.live is None or slot.live.is_sealed:
                    slot.is_resting = False
                    self._router.force(slot)
                    await slot.until_state(SlotState.LIVE)
                if slot.live is not None:
                    slot.live.command(
                        HostCommand(kind=said.COMMAND_CANCEL, actor=actor, run_id=record.run_id)
                    )
                answer = await answered
        except TimeoutError:
            raise OperationTimeoutError("The session of this run gave no answer in time.") from None
        finally:
            answered.cancel()
        if answer is CancelAnswer.NOT_FOUND:
            raise NotFoundError("The session of this run does not know it any more.")
        if answer is CancelAnswer.ALREADY:
            raise InvalidArgumentError("The run is over, or being cancelled already.")
