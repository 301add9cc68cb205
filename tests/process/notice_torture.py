"""Watchers and targets under random kills: nothing is lost, nothing is told twice.

Two watchers, each of two targets, of which the second watcher is one itself. People write to all of
them and change goals, while any process is killed. A small dose by the tests, a large one by
`scripts/torture signals`.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

import grpc

from tests.process.checks import check_journal
from tests.process.notice_calls import (
    config,
    lines_in,
    marks,
    set_goal,
    show,
    told_in,
    wakes_in,
    watch,
)
from tests.process.run_calls import kill
from tests.process.world import World

WATCHERS = ("left", "right")
PAIRS = (("left", "far"), ("left", "right"), ("right", "far"), ("right", "near"))
TARGETS = ("far", "near", "right")
SESSIONS = ("left", "right", "far", "near")
KILLS_PER_WORLD = 12
DAEMONS = 0.2
"""Share of the kills that the daemon takes: its start is what takes long."""
LONGEST_PAUSE_S = 0.25
SETTLED = ("ready", "processing", "passive")
SCRIPT = '[[tool:shell_execute {"command":"true"}]] [[pace:10]] [[next]] [[tokens:12]] [[pace:10]]'
"""What a watcher does once it is told of something: long enough to be hit in each part of it."""


@dataclass(slots=True, kw_only=True)
class NoticeToll:
    """What was killed, and what was told in spite of it."""

    kills: Counter[str] = field(default_factory=Counter)
    changes: int = 0
    lines: int = 0
    wakes: int = 0

    def add(self, other: NoticeToll) -> None:
        """Count what another world saw as well."""
        self.kills += other.kills
        self.changes += other.changes
        self.lines += other.lines
        self.wakes += other.wakes


class Fleet:
    """Four sessions of one daemon."""

    def __init__(self, world: World, *, name: str) -> None:
        self._world = world
        self._dice = random.Random(name)
        self._number = 0
        self.toll = NoticeToll()

    async def run(self, *, kills: int) -> NoticeToll:
        """Change, kill, and check each promise."""
        world = self._world
        for name in SESSIONS:
            await world.peer.turn(name, f"I am {name}. [[reply:yes]]")
        for watcher, target in PAIRS:
            await watch(world, watcher, target)
        world.model.rule("changed (other actor)", SCRIPT)
        while self.toll.kills.total() < kills:
            for _ in range(self._dice.randrange(1, 4)):
                await self._change()
            await asyncio.sleep(self._dice.uniform(0.0, LONGEST_PAUSE_S))
            await self._strike()
        await self._settle()
        await self._check()
        return self.toll

    async def _change(self) -> None:
        """A person does something; what is not acknowledged may have happened or not."""
        self._number += 1
        target = self._dice.choice(TARGETS)
        try:
            if self._dice.random() < 0.5:
                await set_goal(self._world, target, f"goal {self._number}")
            else:
                await self._world.peer.send(target, f"message {self._number} [[reply:yes]]")
        except grpc.aio.AioRpcError as failure:
            if failure.code() is grpc.StatusCode.INTERNAL:
                raise

    async def _strike(self) -> None:
        """Kill one of the processes there are."""
        world = self._world
        rows = await world.peer.rows()
        pids = [row.pid for row in rows.values() if row.pid]
        is_daemon = self._dice.random() < DAEMONS
        if not (is_daemon or pids):
            return
        self.toll.kills["daemon" if is_daemon else "session"] += 1
        if not is_daemon:
            kill(self._dice.choice(pids))
            return
        # Two deaths during one start of a session hold it, which is another matter.
        for name in SESSIONS:
            await world.peer.wait_row(name, lambda row: row.phase in SETTLED)
        await world.kill()
        await world.start()

    async def _settle(self) -> None:
        """Wait until everything there is to tell was told; bounded."""
        world = self._world
        found: object = None
        try:
            async with asyncio.timeout(60):
                while True:
                    # In this order: the turn that consumed the last notice may still be open.
                    stands = [await marks(world, *pair) for pair in PAIRS]
                    rows = await world.peer.rows()
                    found = stands, {name: rows[name].pending_inputs for name in SESSIONS}
                    is_told = all(seen == material for seen, _, material in stands)
                    if is_told and not any(rows[name].pending_inputs for name in SESSIONS):
                        return
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"not everything was told: {found}") from None

    async def _check(self) -> None:
        world = self._world
        material = {}
        for target in TARGETS:
            rows = await world.peer.journal(target)
            changes = await show(world, target)
            material[target] = [event.sequence for event in changes.events]
            assert material[target] == sorted(set(material[target]))
            assert len(material[target]) == sum(_is_change(row) for row in rows) - 1
            self.toll.changes += len(material[target])
        for watcher in WATCHERS:
            rows = await world.peer.journal(watcher)
            check_journal(rows)
            told = told_in(rows)
            self.toll.lines += len(told)
            wakes = wakes_in(rows)
            assert len(wakes) == len(set(wakes)), "a wake was admitted twice"
            self.toll.wakes += len(wakes)
            for target in (pair[1] for pair in PAIRS if pair[0] == watcher):
                since = 0
                for notice in (item for item in told if item.target == target):
                    assert notice.since == since
                    assert notice.mark in material[target]
                    assert notice.mark > since
                    since = notice.mark
                assert since == (material[target] or [0])[-1], "something was never told"
            self._check_requests(watcher, [notice.line for notice in told])

    def _check_requests(self, watcher: str, lines: list[str]) -> None:
        """What the model was sent for the watcher: each line once, in order, byte for byte."""
        mine = [
            request
            for request in self._world.model.requests
            if any(
                str(message.get("content")).startswith(f"I am {watcher}.")
                for message in request.messages
            )
        ]
        for request in mine:
            found = lines_in(request)
            assert found == lines[: len(found)], f"{watcher} was sent {found} of {lines}"
        assert lines_in(mine[-1]) == lines


def _is_change(row: dict[str, object]) -> bool:
    """Whether a row is a message of a person or a goal; wakes are neither."""
    if row["type"] == "GoalSet":
        return True
    payload = row["payload"]
    assert isinstance(payload, dict)
    return row["type"] == "InputAdmitted" and not payload["source_message_id"]


async def torture_fleet(*, name: str, kills: int = KILLS_PER_WORLD) -> NoticeToll:
    """One fleet in a home of its own."""
    async with World(config=config(0.3)) as world:
        await world.start()
        try:
            return await Fleet(world, name=name).run(kills=kills)
        except BaseException:
            print(f"fleet {name}; the daemon said:\n{world.log[-6000:]}")
            raise


async def torture_notices(*, seed: int, kills: int) -> NoticeToll:
    """Fleets after each other until so many processes were killed."""
    toll = NoticeToll()
    fleet = 0
    while (left := kills - toll.kills.total()) > 0:
        toll.add(await torture_fleet(name=f"{seed}-{fleet}", kills=min(left, KILLS_PER_WORLD)))
        fleet += 1
    return toll
