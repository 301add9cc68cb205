"""What the daemon is told about a channel: the newest state, never more often than is useful."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict

from netclaw.adapters.driver import Account
from netclaw.adapters.parts import Counters
from netclaw.wire.v1.gateway_pb2 import ChannelAnswer, ChannelReport

SIGN_OF_LIFE_S = 10.0
"""The same is said again after so long: silence means that the process hangs."""
COUNTERS_EVERY_S = 1.0
"""At most so old are the counters that `status` shows."""


class Reports:
    """One process's reports; everything said since the last one goes into the next."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._now = ChannelReport(state="starting")
        self._answers: list[ChannelAnswer] = []
        self._is_last = False
        self._is_new = asyncio.Event()
        self._is_new.set()

    @property
    def state(self) -> str:
        """What was said last."""
        return self._now.state

    def say_state(self, state: str) -> None:
        """The connection is in another state."""
        if state != self._now.state:
            self._now.state = state
            self._is_new.set()

    def say_account(self, account: Account) -> None:
        """The platform knows us by this account."""
        self._now.account = account.name or account.user_id
        self._now.scope = account.scope
        self._is_new.set()

    def say_failure(self, sentence: str, *, at_ms: int, retry_after_s: float | None = None) -> None:
        """Something went wrong; stable text without secrets."""
        self._now.last_failure = sentence
        self._now.last_failure_at_ms = at_ms
        self._now.retry_after_ms = round((retry_after_s or 0.0) * 1000)
        self._is_new.set()

    def say_answer(self, answer: ChannelAnswer) -> None:
        """Answer a question of the daemon, once."""
        self._answers.append(answer)
        self._is_new.set()

    def close(self) -> None:
        """End the stream behind what was said last."""
        self._is_last = True
        self._is_new.set()

    def current(self) -> ChannelReport:
        """Everything as of now."""
        report = ChannelReport()
        report.CopyFrom(self._now)
        report.counters.update(asdict(self._counters))
        return report

    @staticmethod
    def _copy(report: ChannelReport) -> ChannelReport:
        copy = ChannelReport()
        copy.CopyFrom(report)
        return copy

    async def stream(self) -> AsyncIterator[ChannelReport]:
        """Reports until `close`: at once when something was said, else when a counter moved."""
        told = ChannelReport()
        told_at = time.monotonic()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(COUNTERS_EVERY_S):
                    await self._is_new.wait()
            self._is_new.clear()
            is_last = self._is_last
            report = self.current()
            now = time.monotonic()
            answers, self._answers = self._answers, []
            if answers or report != told or now - told_at >= SIGN_OF_LIFE_S:
                told, told_at = self._copy(report), now
                report.answers.extend(answers)
                yield report
            if is_last:
                return
