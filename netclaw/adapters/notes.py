"""Lines for people that nothing depends on: why a button or a letter did nothing."""

from __future__ import annotations

import logging
import secrets
from collections import deque

from netclaw.adapters.bounded import bounded
from netclaw.adapters.driver import Driver, Post, RefusedFailure, Thread, TransientFailure

_log = logging.getLogger(__name__)

REMEMBERED = 1000


class Notes:
    """Says lines, each once if that is asked for."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._said: deque[str] = deque(maxlen=REMEMBERED)

    async def say_once(self, thread: Thread, reason: str, text: str) -> None:
        """A line for this reason, unless it was said lately: a press can be repeated at will."""
        if reason not in self._said:
            self._said.append(reason)
            await self.say(thread, text)

    async def say(self, thread: Thread, text: str) -> None:
        """A line; that it could not be shown is logged."""
        post = Post(thread=thread, key=f"n.{secrets.token_hex(8)}", text=text)
        try:
            await bounded(self._driver.post(post))
        except (RefusedFailure, TransientFailure) as failure:
            _log.info("a line was not shown: %s", failure.sentence)
