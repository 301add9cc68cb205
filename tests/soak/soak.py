"""One soak: sessions under random histories and faults, a time to settle, then the checks.

Used for 45 seconds by the tests and for as long as wanted by `scripts/torture soak`. Everything
random comes from one seed; what the machine's timing adds is not repeatable, so a home in which a
promise was broken is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes.model import FakeModel
from tests.process.checks import processes_with
from tests.process.world import World
from tests.soak.check import Verdict, check_home
from tests.soak.evidence import Evidence
from tests.soak.link import CutOffError, RefusedError, again, ask
from tests.soak.people import Adapter, Guests, Recorder, Talker
from tests.soak.providers import Provider
from tests.soak.replay_check import check_replays
from tests.soak.trouble import Trouble, edit_number

WINDOW = 12_000
"""Tokens that the models see: small enough that every long conversation is shortened."""
SETTLE_S = 60.0
LOOK_EVERY_S = 0.2
"""Whether all sessions have come to rest, within that time."""
GUESTS = 3
DAEMON_PAUSE_S = 4.0
"""Between two troubles of the whole daemon, about: long enough that histories go on."""


@dataclass(slots=True, kw_only=True)
class Report:
    """What a soak did."""

    seed: int
    sessions: int
    inputs: int = 0
    verdict: Verdict = field(default_factory=Verdict)
    trouble: Counter[str] = field(default_factory=Counter)
    talk: Counter[str] = field(default_factory=Counter)
    model: Counter[str] = field(default_factory=Counter)
    guests: int = 0
    phases_seen: int = 0
    posted: int = 0
    seconds: float = 0.0

    def lines(self) -> list[str]:
        """The report for people."""
        named = {
            "trouble": self.trouble,
            "talk": self.talk,
            "model": self.model,
            "turns": self.verdict.outcomes,
            "tool results": self.verdict.results,
            "events": self.verdict.events,
        }
        shown = [
            f"{name}: " + ", ".join(f"{what} {count}" for what, count in counts.most_common())
            for name, counts in named.items()
        ]
        first = (
            f"{self.sessions} sessions, {self.inputs} inputs, {self.posted} replies posted,"
            f" {self.guests} guests, {self.phases_seen} phases seen, {self.seconds:.0f} s"
        )
        return [first, *shown]


def _config(fallback_url: str, sessions: int) -> dict[str, Any]:
    """Short limits, so that every rule is met again and again."""
    model = {"ModelId": "fake-model", "ContextWindow": WINDOW}
    return {
        "Providers": {"second": {"Type": "openai-compatible", "Endpoint": fallback_url}},
        "Models": {
            "Definitions": {
                "main": model,
                "fallback": {**model, "Provider": "second"},
            },
            "Roles": {"Fallback": "fallback", "Compaction": "fallback"},
        },
        "Session": {
            "PrefillTimeoutSeconds": 60,
            "NoProgressTimeoutSeconds": 2,
            "ToolExecutionTimeoutSeconds": 2,
            "SidecarLlmTimeoutSeconds": 2,
            "IdleTimeout": "00:00:01.5",
            "Tuning": {
                "CompactionThreshold": 0.6,
                "MaxInlineToolResultChars": 2000,
                "PassivationGraceSeconds": 0.2,
                "TitleGenerationInterval": 3,
            },
            "Limits": {"LivenessSeconds": 5},
        },
        "Supervision": {"TurnCrashLimit": 3},
        "Daemon": {"MaxLiveSessions": max(2, sessions * 3 // 4), "DrainSeconds": 5},
    }


class Soak:
    """A world, its people and its trouble."""

    def __init__(self, *, seed: int, sessions: int) -> None:
        self._seed = seed
        self._names = [f"soak{number}" for number in range(sessions)]
        self._marker = f"effects-{os.getpid()}-{seed}.txt"
        self.evidence = Evidence(window=WINDOW, effects_file=self._marker)
        self._main = Provider(self.evidence, seed=f"{seed}/main", is_sound=False)
        self._second = Provider(self.evidence, seed=f"{seed}/second", is_sound=True)
        self.report = Report(seed=seed, sessions=sessions)

    async def run(self, *, minutes: float, keep: Path | None = None) -> Report:
        """Soak, settle, check; raises AssertionError where a promise was broken.

        `keep` is where the home of a soak that failed is copied to.
        """
        began = time.monotonic()
        async with FakeModel(director=self._second, record=10) as second:
            world = World(
                config=_config(second.url, len(self._names)),
                model=FakeModel(director=self._main, record=10),
            )
            async with world:
                try:
                    await self._soak(world, minutes * 60)
                    self._judge(world)
                except BaseException:
                    self._keep(world, keep)
                    raise
        self.report.seconds = time.monotonic() - began
        return self.report

    async def _soak(self, world: World, length_s: float) -> None:
        await world.start()
        for name in self._names:
            await world.peer.ensure(name)
        stop = asyncio.Event()
        trouble = Trouble(world, sessions=self._names, seed=self._seed, marker=self._marker)
        guests = Guests(world, sessions=self._names, seed=self._seed)
        talkers = [
            Talker(world, self.evidence, session=name, seed=self._seed, pause_s=0.6)
            for name in self._names
        ]
        watching = [
            asyncio.create_task(Recorder(world, self.evidence, session=name).run())
            for name in self._names
        ]
        watching += [asyncio.create_task(guests.run()) for _ in range(GUESTS)]
        adapter = Adapter(world, self.evidence, seed=self._seed)
        watching.append(asyncio.create_task(adapter.run()))
        try:
            async with asyncio.TaskGroup() as group:
                for talker in talkers:
                    group.create_task(talker.run(stop))
                group.create_task(trouble.trouble_sessions(stop, pause_s=8 / len(self._names)))
                group.create_task(trouble.trouble_daemon(stop, pause_s=DAEMON_PAUSE_S))
                await asyncio.sleep(length_s)
                stop.set()
            await self._settle(world, trouble)
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
        async with asyncio.timeout(SETTLE_S):
            while await self._waiting(world):
                await adapter.post_some()
        self._count(trouble, guests, talkers)
        assert await world.stop() == 0, f"the daemon stopped badly: {world.log[-2000:]}"
        await trouble.until_no_tool()

    async def _waiting(self, world: World) -> bool:
        """Whether replies wait to be posted; the last edit's restart may come as late as this."""
        try:
            return bool((await ask(world.peer.status)).outbox_waiting)
        except (CutOffError, RefusedError):
            await again(world)
            return True

    async def _settle(self, world: World, trouble: Trouble) -> None:
        """No more trouble: whatever was acknowledged is answered or reported now."""
        world.edit_config(edit_number(0))
        rows: dict[str, Any] = {}
        try:
            async with asyncio.timeout(SETTLE_S):
                while True:
                    with contextlib.suppress(Exception):
                        await world.peer.connect()
                        await trouble.settle()
                        rows = await world.peer.rows()
                        if not any(row.pending_inputs for row in rows.values()):
                            return
                    await asyncio.sleep(LOOK_EVERY_S)
        except TimeoutError:
            left = {name: str(row) for name, row in rows.items() if row.pending_inputs}
            raise AssertionError(f"sessions did not come to rest: {left}") from None

    def _count(self, trouble: Trouble, guests: Guests, talkers: list[Talker]) -> None:
        report = self.report
        report.inputs = len({ack.input_id for ack in self.evidence.acks})
        report.trouble = trouble.counts
        report.guests = guests.count
        for talker in talkers:
            report.talk += talker.counts
        report.model = self._main.counts + Counter(
            {f"fallback {what}": count for what, count in self._second.counts.items()}
        )
        report.posted = len(self.evidence.posted)
        report.phases_seen = sum(
            bool(seen.phase) for notes in self.evidence.seen.values() for seen in notes
        )

    def _judge(self, world: World) -> None:
        self.report.verdict = check_home(world.home, self.evidence)
        problems = [*self.report.verdict.problems, *check_replays(world.home)]
        if processes_with(self._marker):
            problems.append("a tool runs after the daemon has ended")
        shown = "\n".join(problems[:30])
        assert not problems, f"seed {self._seed}: {len(problems)} promises broken\n{shown}"

    def _keep(self, world: World, keep: Path | None) -> None:
        said = world.log[-2000:] + world.daemon_log[-4000:]
        print(f"seed {self._seed}; the daemon said:\n{said}")
        if keep is not None:
            self.evidence.save(world.home)
            shutil.copytree(world.home, keep, ignore=_without_sockets, dirs_exist_ok=True)
            print(f"its home is kept in {keep}: python -m tests.soak.check {keep}")


def _without_sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if Path(folder, name).is_socket()]
