"""What a channel costs: threads of a workspace that all begin at once, and one after another."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.figures import percentile
from benchmarks.stage import Stage, pss_mib
from tests.adapters.process.slack_world import slack_ready, slack_section
from tests.fakes.slack import SlackServer
from tests.fakes.slack_store import BOT, BOT_USER, CHANNEL, Message, Workspace

WARM_UP_THREADS = 3
ALONE_THREADS = 20
WAIT_S = 120.0
ANSWER = "the answer to the question that was asked, in one short sentence"


class ClockedWorkspace(Workspace):
    """A workspace that knows when each thread began and when it was answered."""

    def __init__(self) -> None:
        super().__init__()
        self._began: dict[str, float] = {}
        self._answered: dict[str, tuple[float, str]] = {}
        self._news = asyncio.Event()

    def add(self, message: Message) -> Message:
        """Keep one, and the instant: the event of a message is sent right after this."""
        if message.bot_id == BOT:
            self._answered.setdefault(message.thread, (time.perf_counter(), message.shown))
        else:
            self._began.setdefault(message.thread, time.perf_counter())
        self._news.set()
        return super().add(message)

    async def until_answered(self, threads: Sequence[str]) -> None:
        """Wait for an answer in each of them; bounded."""
        async with asyncio.timeout(WAIT_S):
            while not self._answered.keys() >= set(threads):
                self._news.clear()
                await self._news.wait()

    def waits_ms(self, threads: Sequence[str]) -> Iterator[float]:
        """From each thread's first message to its answer, which has to be the right one."""
        for thread in threads:
            at, text = self._answered[thread]
            if text != ANSWER:
                raise RuntimeError(f"the answer was {text!r}")
            yield (at - self._began[thread]) * 1000


async def measure_channel(*, at_once: int) -> dict[str, float]:
    """New threads one after another, then all at once, and the adapter's memory after that."""
    workspace = ClockedWorkspace()
    async with (
        SlackServer(store=workspace, page_size=100) as slack,
        Stage(config=slack_section(slack)) as stage,
    ):
        await stage.world.start()
        adapter = await slack_ready(stage.world)
        for _ in range(WARM_UP_THREADS):
            await _talk(slack, workspace, 1)
        alone = [wait for _ in range(ALONE_THREADS) for wait in await _talk(slack, workspace, 1)]
        crowd = await _talk(slack, workspace, at_once)
        if (await slack_ready(stage.world)).pid != adapter.pid:
            raise RuntimeError("the adapter did not last")
        return {
            "channelAloneP50Ms": percentile(alone, 0.5),
            "channelAtOnceP50Ms": percentile(crowd, 0.5),
            "channelAtOnceP95Ms": percentile(crowd, 0.95),
            "channelAtOnceRatio": percentile(crowd, 0.5) / percentile(alone, 0.5),
            "channelAdapterRssMiB": _resident_mib(adapter.pid),
            "channelAdapterPssMiB": pss_mib([adapter.pid]),
        }


async def _talk(slack: SlackServer, workspace: ClockedWorkspace, threads: int) -> list[float]:
    """Begin so many threads in the same instant; milliseconds until the answer of each."""
    text = f"<@{BOT_USER}> [[reply:{ANSWER}]]"
    begun = await asyncio.gather(*(slack.say(text, channel=CHANNEL) for _ in range(threads)))
    roots = [message.thread for message in begun]
    await workspace.until_answered(roots)
    return list(workspace.waits_ms(roots))


def _resident_mib(pid: int) -> float:
    """The highest resident size that the process had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} tells nothing of its memory")
