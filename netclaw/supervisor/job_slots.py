"""The slots of running background jobs, for the whole daemon (decision 85).

A job waits in the order of asking. Its slot, or its place in the queue, is given back when its
session says so, or when the process that asked is buried with everything it left behind.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from netclaw.core.errors import InvalidArgumentError, NotFoundError
from netclaw.core.ids import JobId, SessionId
from netclaw.supervisor.live_session import LiveSession
from netclaw.supervisor.tasks import Tasks
from netclaw.wire.jobs import ASK_BACK, ASK_SLOT, ASK_TURN, GRANTED, QUEUED, decode_job_id

SLOTS = 5
"""Jobs that run at once; the others wait."""
MOST_WAITING = 1000
"""A session that asks for more than this is broken."""


@dataclass(slots=True, eq=False)
class _Place:
    """One job that runs or waits to run."""

    live: LiveSession
    job_id: JobId
    granted: asyncio.Event = field(default_factory=asyncio.Event)
    is_gone: bool = False


class JobSlots:
    """Answers the `job_slot` questions of session processes."""

    def __init__(self, tasks: Tasks, *, slots: int = SLOTS) -> None:
        self._tasks = tasks
        self._free = slots
        self._places: dict[tuple[LiveSession, JobId], _Place] = {}
        """In the order of asking."""
        self._watched: set[LiveSession] = set()

    async def answer(self, live: LiveSession, kind: str, payload: bytes) -> bytes:
        """Answer one question; raises a `NetclawError` to refuse it."""
        key = (live, decode_job_id(payload))
        match kind:
            case _ if kind == ASK_SLOT:
                return self._ask(key)
            case _ if kind == ASK_TURN:
                return await self._wait(key)
            case _ if kind == ASK_BACK:
                self._give_back(key)
                return b""
            case _:
                raise InvalidArgumentError(f"The supervisor knows no question {kind!r}.")

    def is_waiting(self, session_id: SessionId, job_id: JobId) -> bool:
        """Whether a job waits for a slot."""
        return any(
            place.job_id == job_id and not place.granted.is_set()
            for place in self._places.values()
            if place.live.session_id == session_id
        )

    @property
    def running(self) -> int:
        """Jobs that hold a slot."""
        return sum(place.granted.is_set() for place in self._places.values())

    @property
    def waiting(self) -> int:
        """Jobs that wait for one."""
        return len(self._places) - self.running

    def _ask(self, key: tuple[LiveSession, JobId]) -> bytes:
        live, job_id = key
        if live.buried.is_set():
            raise InvalidArgumentError("The process that asks is dead.")
        if key not in self._places:
            if self.waiting >= MOST_WAITING:
                raise InvalidArgumentError(f"{MOST_WAITING} background jobs wait already.")
            self._places[key] = _Place(live, job_id)
            self._watch(live)
            self._settle()
        return GRANTED if self._places[key].granted.is_set() else QUEUED

    async def _wait(self, key: tuple[LiveSession, JobId]) -> bytes:
        place = self._places.get(key)
        if place is not None:
            await place.granted.wait()
        if place is None or place.is_gone:
            raise NotFoundError("The job has no place in the queue.")
        return GRANTED

    def _give_back(self, key: tuple[LiveSession, JobId]) -> None:
        place = self._places.pop(key, None)
        if place is None:
            return
        if place.granted.is_set():
            self._free += 1
        place.is_gone = True
        place.granted.set()
        self._settle()

    def _settle(self) -> None:
        for place in self._places.values():
            if self._free == 0:
                return
            if not place.granted.is_set():
                self._free -= 1
                place.granted.set()

    def _watch(self, live: LiveSession) -> None:
        if live not in self._watched:
            self._watched.add(live)
            self._tasks.start(self._until_buried(live), name=f"job slots of {live.session_id}")

    async def _until_buried(self, live: LiveSession) -> None:
        await live.buried.wait()
        self._watched.discard(live)
        for key in [key for key in self._places if key[0] is live]:
            self._give_back(key)
