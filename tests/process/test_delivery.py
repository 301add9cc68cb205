"""Several clients on one session: each filter's view, slow and dead ones, and late ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from netclaw.core.session.outputs import OutputFilter
from netclaw.wire.v1.common_pb2 import Output
from tests.process.peer import WAIT_S, Peer
from tests.process.world import World

pytestmark = pytest.mark.timeout(90)

LIFECYCLE = {"turn_completed"}
SHOWN = {
    OutputFilter.TEXT: {"text"},
    OutputFilter.TEXT_STREAMING: {"text_delta"},
    OutputFilter.THINKING: {"thinking_delta"},
    OutputFilter.TOOL_CALLS: {"tool_call", "tool_result"},
    OutputFilter.USAGE: {"usage"},
    OutputFilter.FILES: set(),
    OutputFilter.PROCESSING_STATE: {"processing"},
    OutputFilter(0): set(),
}
"""What each filter adds to the lifecycle in a turn without files."""
CALL = json.dumps({"command": "echo seen"})
TURN = (
    f"[[think:hm]] [[reply:Looking.]] [[tool:shell_execute {CALL}]]"
    " [[next]] [[think:so]] [[tokens:5]]"
)


class Ear:
    """One subscriber that listens to a session until its turn is over."""

    def __init__(self, peer: Peer, name: str, bits: int) -> None:
        self.opened = asyncio.Event()
        self.heard: list[Output] = []
        self._stream = peer.attach(name, filter_bits=bits, opened=self.opened)
        self.task = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for output in self._stream:
            self.heard.append(output)
            if output.type == "turn_completed":
                return

    @property
    def types(self) -> set[str]:
        """The kinds of what it heard."""
        return {output.type for output in self.heard}

    def text_of(self, kind: str) -> str:
        """All it heard of one kind, joined."""
        return "".join(output.text for output in self.heard if output.type == kind)


@asynccontextmanager
async def ears(
    world: World, name: str, *bits: int
) -> AsyncIterator[Callable[[], Awaitable[list[Ear]]]]:
    """Subscribers with these filters; the value waits until each heard the turn's end."""
    await world.peer.ensure(name)
    listening = [Ear(world.peer, name, each) for each in bits]
    await asyncio.gather(*(ear.opened.wait() for ear in listening))

    async def all_heard() -> list[Ear]:
        async with asyncio.timeout(WAIT_S):
            await asyncio.gather(*(ear.task for ear in listening))
        return listening

    try:
        yield all_heard
    finally:
        for ear in listening:
            ear.task.cancel()


@pytest.mark.requirement("delivery.seven-filters")
async def test_each_filter_shows_what_it_names_and_the_lifecycle_always(world: World) -> None:
    async with ears(world, "s", *SHOWN) as all_heard:
        await world.peer.send("s", TURN)
        heard = await all_heard()
    for ear, (chosen, kinds) in zip(heard, SHOWN.items(), strict=True):
        assert ear.types - LIFECYCLE - {"title"} == kinds, chosen
        assert ear.types >= LIFECYCLE
    by_filter = dict(zip(SHOWN, heard, strict=True))
    whole = "t0 t1 t2 t3 t4"
    assert by_filter[OutputFilter.TEXT].heard[-2].text.strip() == whole
    assert by_filter[OutputFilter.TEXT_STREAMING].text_of("text_delta").split() == [
        "Looking.t0",
        *whole.split()[1:],
    ]
    assert by_filter[OutputFilter.THINKING].text_of("thinking_delta") == "hmso"


@pytest.mark.requirement("delivery.typing")
async def test_the_busy_state_is_told_when_it_begins_and_when_it_ends(world: World) -> None:
    opened = asyncio.Event()
    phases: list[str] = []

    async def listen() -> None:
        async for output in world.peer.attach(
            "s", filter_bits=OutputFilter.PROCESSING_STATE, opened=opened
        ):
            if output.type == "processing":
                phases.append(output.phase)
                if phases[-2:] == ["processing", "ready"]:
                    return

    await world.peer.ensure("s")
    listening = asyncio.create_task(listen())
    await opened.wait()
    await world.peer.send("s", "[[tokens:3]]")
    async with asyncio.timeout(WAIT_S):
        await listening


@pytest.mark.requirement("delivery.sixteen")
async def test_sixteen_subscribers_at_speed_one_of_which_never_reads(world: World) -> None:
    count = 4000
    await world.peer.ensure("s")
    opened = asyncio.Event()
    deaf = world.peer.attach("s", opened=opened)
    first = asyncio.ensure_future(anext(deaf))  # subscribes; nothing is read after the first
    await opened.wait()
    async with ears(world, "s", *[OutputFilter.ALL] * 15) as all_heard:
        await world.peer.send("s", f"[[tokens:{count}]]")
        heard = await all_heard()
    await first
    expected = [f"t{number}" for number in range(count)]
    for ear in heard:
        assert ear.text_of("text_delta").split() == expected
        assert "resync" not in ear.types
    assert (await world.peer.turn("s", "[[reply:next]]")).text == "next"
    await deaf.aclose()  # type: ignore[attr-defined]


@pytest.mark.requirement("delivery.dying-subscriber")
async def test_a_client_that_dies_in_mid_turn_is_dropped_and_nobody_notices(world: World) -> None:
    await world.peer.ensure("s")
    doomed = Peer(world.home)
    await doomed.connect()
    dying = Ear(doomed, "s", OutputFilter.ALL)
    await dying.opened.wait()
    async with ears(world, "s", OutputFilter.ALL) as all_heard:
        await world.peer.send("s", "[[tokens:20]] [[gate_after:5:held]]")
        await world.at_gate("held")
        dying.task.cancel()
        await doomed.close()
        world.open_gate("held")
        (stays,) = await all_heard()
    assert stays.text_of("text_delta").split() == [f"t{number}" for number in range(20)]
    assert [output.outcome for output in stays.heard if output.type == "turn_completed"] == [
        "completed"
    ]
