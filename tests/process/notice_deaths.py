"""The life of a notice, step by step, and how each step is held still for a kill.

A watcher and a target; a person writes to the target. At each step one of the three processes is
killed with SIGKILL: the watcher's, the target's, or the daemon. Afterwards everything is let go,
and from outside - journal, marks, and what the model was sent - every line must have come once.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from netclaw.core.session.phase import Phase
from tests.fakes.model_record import Recorded
from tests.process.checks import check_journal
from tests.process.notice_calls import (
    TARGET,
    WATCHER,
    lines_in,
    marks,
    show,
    told_in,
    until_quiet,
    wakes_in,
    watch,
)
from tests.process.run_calls import kill
from tests.process.world import World
from tests.stopping import stop

MARKER = "I watch"
"""In the first message of the watcher: tells its requests from the target's."""
READY = Phase.READY.value
Step = Callable[["Stage"], Awaitable[None]]


@dataclass(slots=True)
class Stage:
    """One world at one step of a notice's life."""

    world: World
    frozen: list[int] = field(default_factory=list)
    """Pids under SIGSTOP."""

    async def set_up(self, script: str) -> None:
        """A watcher whose turns play `script` once they tell of something, and its target."""
        world = self.world
        await world.peer.turn(WATCHER, f"{MARKER} [[reply:here]]")
        await world.peer.turn(TARGET, "[[reply:there]]")
        await watch(world, WATCHER, TARGET)
        world.model.rule("changed (other actor)", script)

    async def say(self, text: str = "news [[reply:yes]]") -> None:
        """A person writes to the target, whose turn begins."""
        await self.world.peer.turn(TARGET, text)

    async def freeze(self, session_id: str) -> None:
        """Stop a session's process where it stands: it reads nothing and does nothing."""
        row = await self.world.peer.wait_row(session_id, lambda row: row.pid > 0)
        stop(row.pid)
        self.frozen.append(row.pid)

    async def strike(self, victim: str) -> None:
        """Kill it; the daemon is started again at once."""
        if victim == "daemon":
            await self.world.kill()
            self.thaw()
            await self.world.start()
            return
        row = (await self.world.peer.rows())[victim]
        kill(row.pid)
        self.thaw()

    def thaw(self) -> None:
        """Let frozen processes go on, those that are still there."""
        for pid in self.frozen:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                continue
        self.frozen.clear()


async def admitted_not_begun(stage: Stage) -> None:
    """The person's message is durable; the target's turn, and with it the signal, is not."""
    await stage.set_up("[[reply:noted]]")
    await stage.freeze(TARGET)
    await stage.world.peer.send(TARGET, "news [[reply:yes]]")
    assert await marks(stage.world, WATCHER, TARGET) == (0, 0, 0)


async def committed_not_read(stage: Stage) -> None:
    """The notice is open and a wake admitted; the watcher's process has read neither."""
    await stage.set_up("[[reply:noted]]")
    await stage.freeze(WATCHER)
    await stage.say()
    await stage.world.peer.wait_row(WATCHER, lambda row: row.pending_inputs == 1)
    await assert_open(stage.world)


async def told_not_started(stage: Stage) -> None:
    """The watcher knows of it, and is at work for a person: the wake waits its turn."""
    await stage.set_up("[[reply:noted]]")
    await stage.world.peer.send(WATCHER, "long [[gate:work]] [[reply:done]]")
    await stage.world.at_gate("work")
    await stage.say()
    await stage.world.peer.wait_row(WATCHER, lambda row: row.pending_inputs == 2)
    await assert_open(stage.world)


async def begun_before_a_round(stage: Stage) -> None:
    """TurnStarted holds the line and acknowledged it; the model has said nothing."""
    await stage.set_up("[[gate:round]] [[reply:noted]]")
    await stage.say()
    await stage.world.at_gate("round")
    await until_acknowledged(stage.world)
    rows = await stage.world.peer.journal(WATCHER)
    assert rows[-1]["type"] == "TurnStarted"


async def after_a_round(stage: Stage) -> None:
    """The model answered with a call, whose result is recorded; the turn goes on."""
    await stage.set_up(
        '[[tool:shell_execute {"command":"true"}]] [[next]] [[gate:end]] [[reply:noted]]'
    )
    await stage.say()
    await stage.world.at_gate("end")
    rows = await stage.world.peer.journal(WATCHER)
    assert rows[-1]["type"] == "ToolResultRecorded"


async def follow_up_open(stage: Stage) -> None:
    """While the first line's turn waits for its model, more came: a second notice is open."""
    await begun_before_a_round(stage)
    for _ in range(3):
        await stage.say()
    seen, notified, material = await marks(stage.world, WATCHER, TARGET)
    assert 0 < seen < notified < material


async def assert_open(world: World) -> None:
    """The watcher has a notice that no turn of it consumed."""
    seen, notified, _ = await marks(world, WATCHER, TARGET)
    assert seen < notified


async def until_acknowledged(world: World) -> None:
    """Poll until the watcher's turn has consumed what was open; bounded."""
    async with asyncio.timeout(30):
        while True:
            seen, notified, _ = await marks(world, WATCHER, TARGET)
            if seen == notified and seen > 0:
                return
            await asyncio.sleep(0.01)


STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (
        admitted_not_begun,
        committed_not_read,
        told_not_started,
        begun_before_a_round,
        after_a_round,
        follow_up_open,
    )
}
VICTIMS = (WATCHER, TARGET, "daemon")
GATES = ("work", "round", "end")


async def notice_survives(world: World, step: str, victim: str) -> None:
    """One notice, one kill; then check that everything was told, each thing once."""
    stage = Stage(world)
    try:
        await STEPS[step](stage)
        await stage.strike(victim)
    finally:
        stage.thaw()
    for gate in GATES:
        world.open_gate(gate)
    await world.peer.wait_answered(TARGET, 2)
    await until_all_is_told(world)
    await check_told(world)


async def until_all_is_told(world: World) -> None:
    """Wait until the watcher has consumed every change of the target, and is at rest; bounded."""
    async with asyncio.timeout(40):
        while True:
            await until_quiet(world, WATCHER, TARGET)
            seen, _, material = await marks(world, WATCHER, TARGET)
            if seen == material > 0:
                return
            await asyncio.sleep(0.02)


async def check_told(world: World) -> None:
    """Never lost, never doubled, the same to the byte: by journal, marks and model requests."""
    rows = await world.peer.journal(WATCHER)
    check_journal(rows)
    told = told_in(rows)
    changes = await show(world, TARGET)
    material = [e.sequence for e in changes.events if e.kind == "human_direct_message"]
    messages = [row for row in await world.peer.journal(TARGET) if row["type"] == "InputAdmitted"]
    assert len(material) == len(messages) - 1, "a message of a person is no event, or two"
    since = 0
    for notice in told:
        assert notice.since == since, f"a line from {notice.since} follows one up to {since}"
        assert notice.mark in material
        assert notice.mark > since
        since = notice.mark
    assert since == material[-1], "something was never told"
    wakes = wakes_in(rows)
    assert len(wakes) == len(set(wakes)), "a wake was admitted twice"
    check_requests(watchers_requests(world), [notice.line for notice in told])


def watchers_requests(world: World) -> list[Recorded]:
    """What the model was sent for the watcher."""
    return [
        request
        for request in world.model.requests
        if any(MARKER in str(message.get("content")) for message in request.messages)
    ]


def check_requests(requests: list[Recorded], lines: list[str]) -> None:
    """Each request holds what was told by then, each line once, and the last one all of it."""
    for request in requests:
        found = lines_in(request)
        assert found == lines[: len(found)], f"a request holds {found}"
    assert lines_in(requests[-1]) == lines
