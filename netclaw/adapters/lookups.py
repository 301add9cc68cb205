"""Answers the daemon's questions for people and places by name; the same again within five minutes
costs the platform nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from netclaw.adapters.bounded import bounded
from netclaw.adapters.driver import Driver, DriverFailure, Found
from netclaw.wire.v1.gateway_pb2 import ChannelAnswer, ChannelHit, ChannelNews

_log = logging.getLogger(__name__)

MOST = 10
KEPT_S = 300.0
_KEPT = 256
USERS, PLACES = "find_users", "find_places"

Answered = Callable[[ChannelAnswer], None]


class Lookups:
    """The questions of one process."""

    def __init__(
        self,
        driver: Driver,
        answered: Answered,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._driver = driver
        self._answered = answered
        self._monotonic = monotonic
        self._known: dict[tuple[str, str], tuple[float, tuple[Found, ...]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, question: ChannelNews) -> None:
        """Answer a question when the platform did."""
        task = asyncio.create_task(self._answer(question), name=f"lookup {question.number}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Answer nothing any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, question: ChannelNews) -> None:
        answer = ChannelAnswer(number=question.number)
        try:
            found = await self._find(question.kind, question.text)
        except DriverFailure as failure:
            _log.warning("a name was not found: %s", failure.sentence)
            answer.failed = True
        except Exception:  # noqa: BLE001 - a driver's fault concerns this question alone
            _log.exception("a name was not found")
            answer.failed = True
        else:
            answer.hits.extend(ChannelHit(id=hit.id, name=hit.name) for hit in found)
        self._answered(answer)

    async def _find(self, kind: str, text: str) -> tuple[Found, ...]:
        wanted = (kind, text.strip().casefold())
        known = self._known.get(wanted)
        if known is not None and self._monotonic() - known[0] < KEPT_S:
            return known[1]
        find = self._driver.find_users if kind == USERS else self._driver.find_places
        found = (await bounded(find(text)))[:MOST]
        self._known.pop(wanted, None)
        self._known[wanted] = (self._monotonic(), found)
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        return found
