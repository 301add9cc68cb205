"""Questions to one adapter's platform that are under way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from netclaw.supervisor.channel_news import News
from netclaw.wire.v1.gateway_pb2 import ChannelAnswer, ChannelHit, ChannelNews

Answer = Sequence[ChannelHit] | None


class Questions:
    """Each has one answer, or none when the adapter goes away."""

    def __init__(self) -> None:
        self._open: dict[int, asyncio.Future[Answer]] = {}
        self._last = 0

    async def ask(self, news: News, what: str, text: str) -> Answer:
        """The hits; None if the platform or the adapter gave no answer."""
        self._last += 1
        number = self._last
        self._open[number] = asyncio.get_running_loop().create_future()
        news.ask(ChannelNews(kind=f"find_{what}", number=number, text=text))
        try:
            return await self._open[number]
        finally:
            self._open.pop(number, None)

    def take(self, answers: Iterable[ChannelAnswer]) -> None:
        """Hand answers on; one that nobody waits for any more is dropped."""
        for answer in answers:
            self._settle(answer.number, None if answer.failed else tuple(answer.hits))

    def drop(self) -> None:
        """The adapter is gone."""
        for number in list(self._open):
            self._settle(number, None)

    def _settle(self, number: int, answer: Answer) -> None:
        waiting = self._open.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)
