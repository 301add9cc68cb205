"""Every way a session's process ends, as one who waits for an answer lives through it.

Either the work goes on by itself, or whoever waits hears the end: a turn boundary, an error or
notice that names the input, or the end of the stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest

from netclaw.core.exit_codes import ExitCode
from netclaw.wire.v1 import admin_pb2
from netclaw.wire.v1.common_pb2 import Output
from tests.process.checks import check_journal
from tests.process.peer import WAIT_S
from tests.process.test_command_line import HASTY, begin, finish
from tests.process.world import World
from tests.stopping import stop

pytestmark = pytest.mark.timeout(90)

GATED = "[[gate:held]][[reply:the answer]]"


@dataclass
class Waiter:
    """One who sent a message and listens; `heard` is what ended the wait."""

    input_id: str
    outputs: list[Output] = field(default_factory=list)
    is_cut_off: bool = False

    @property
    def text(self) -> str:
        """The answer."""
        return "".join(output.text for output in self.outputs if output.type == "text")

    def last(self, kind: str) -> Output:
        """The newest output of this kind that names the input."""
        named = [o for o in self.outputs if o.type == kind and self.input_id in o.input_ids]
        assert named, [(o.type, o.text) for o in self.outputs]
        return named[-1]

    async def listen(self, stream: AsyncIterator[Output]) -> None:
        """Listen until something ends the wait."""
        try:
            async for output in stream:
                self.outputs.append(output)
                if self._is_end(output):
                    return
        except grpc.aio.AioRpcError:
            pass
        self.is_cut_off = True

    def _is_end(self, output: Output) -> bool:
        return self.input_id in output.input_ids and output.type in ("turn_completed", "notice")


class Waiting:
    """Sends a message to a session, is attached from before it, and waits for the end."""

    def __init__(self, world: World, name: str, text: str, *, sender: str = "") -> None:
        self._world = world
        self._name = name
        self._text = text
        self._sender = sender

    async def __aenter__(self) -> Callable[[], Any]:
        peer = self._world.peer
        await peer.ensure(self._name)
        head = (await peer.rows())[self._name].head_seq
        sent = await peer.send(self._name, self._text, sender=self._sender)
        opened = asyncio.Event()
        waiter = Waiter(sent.input_id)
        stream = peer.attach(self._name, after=head, opened=opened)
        self._task = asyncio.create_task(waiter.listen(stream))
        await opened.wait()

        async def end() -> Waiter:
            async with asyncio.timeout(WAIT_S):
                await self._task
            return waiter

        return end

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task


async def outcomes(world: World, name: str) -> list[str]:
    """What the ledger says of each input, in order."""
    return [entry.outcome for entry in await world.peer.ledger(name)]


async def steer(world: World, order: str, name: str) -> None:
    """An operator's order."""
    call = getattr(world.peer.admin, order)
    await call(admin_pb2.SessionRef(session_id=name), metadata=world.peer.metadata)


async def kill_process(world: World, name: str) -> None:
    """kill -9 of the session's process in its turn.

    A model is asked while the start of the turn is still being committed; killed before that, the
    process would have crashed in no turn.
    """
    row = await world.peer.wait_row(name, lambda new: new.phase == "processing")
    os.kill(row.pid, signal.SIGKILL)
    await world.peer.wait_row(name, lambda new: new.pid != row.pid)


@pytest.mark.requirement("ends.goes-on")
@pytest.mark.parametrize("order", ["KillSession", "RestartSession"])
async def test_after_a_kill_or_restart_of_the_session_the_turn_goes_on(
    world: World, order: str
) -> None:
    async with Waiting(world, "s", GATED) as end:
        await world.at_gate("held")
        await steer(world, order, "s")
        world.open_gate("held")
        heard = await end()
    assert (heard.text, heard.last("turn_completed").outcome) == ("the answer", "completed")
    assert await outcomes(world, "s") == ["completed"]


@pytest.mark.requirement("ends.stop")
async def test_a_stop_ends_the_turn_and_names_the_messages_that_stay(world: World) -> None:
    async with (
        Waiting(world, "s", GATED, sender="alice") as first,
        Waiting(world, "s", "[[reply:behind]]", sender="bob") as second,
    ):
        await world.at_gate("held")
        await steer(world, "StopSession", "s")
        heard = await first()
        assert heard.last("turn_completed").outcome == ""
        error = heard.last("error")
        assert error.category == "Interrupted"
        assert "stopped" in error.text
        assert "may already have run" not in error.text
        kept = await second()
        assert kept.last("notice").outcome == "stopped"
    assert await outcomes(world, "s") == ["failed", "waiting"]
    row = (await world.peer.rows())["s"]
    assert (row.phase, row.pid, row.pending_inputs) == ("passive", 0, 1)

    world.open_gate("held")
    async with Waiting(world, "s", "[[reply:new]]", sender="carol") as third:
        assert (await third()).text.endswith("new")
    assert await outcomes(world, "s") == ["failed", "completed", "completed"]
    check_journal(await world.peer.journal("s"))


@pytest.mark.requirement("ends.stop")
async def test_after_a_stop_a_restart_runs_what_waited(world: World) -> None:
    async with Waiting(world, "s", GATED, sender="alice") as first:
        await world.at_gate("held")
        await world.peer.send("s", "[[reply:behind]]", sender="bob")
        await steer(world, "StopSession", "s")
        await first()
    await steer(world, "RestartSession", "s")
    await world.peer.wait_answered("s", 2)
    assert await outcomes(world, "s") == ["failed", "completed"]


@pytest.mark.requirement("ends.stop")
async def test_a_stop_of_a_session_that_hangs_ends_its_turn_too() -> None:
    async with World(config={"Daemon": {"DrainSeconds": 0.2}}) as world:
        await world.start()
        async with Waiting(world, "s", GATED) as end:
            await world.at_gate("held")
            stop((await world.peer.rows())["s"].pid)
            await steer(world, "StopSession", "s")
            heard = await end()
        assert heard.last("error").category == "Interrupted"
        assert await outcomes(world, "s") == ["failed"]
        check_journal(await world.peer.journal("s"))


@pytest.mark.requirement("ends.stop")
async def test_a_stop_during_a_backoff_ends_the_turn() -> None:
    async with World(config={"Supervision": {"BackoffSeconds": [600]}}) as world:
        await world.start()
        async with Waiting(world, "s", GATED) as end:
            await world.at_gate("held")
            await kill_process(world, "s")
            await world.peer.wait_row("s", lambda row: row.phase == "backoff")
            await steer(world, "StopSession", "s")
            heard = await end()
        assert heard.last("error").category == "Interrupted"
        assert await outcomes(world, "s") == ["failed"]


@pytest.mark.requirement("ends.reset-delete")
async def test_a_reset_ends_every_wait(world: World) -> None:
    async with (
        Waiting(world, "s", GATED, sender="alice") as first,
        Waiting(world, "s", "[[reply:behind]]", sender="bob") as second,
    ):
        await world.at_gate("held")
        await steer(world, "ResetSession", "s")
        for end in (first, second):
            heard = await end()
            assert heard.last("error").category == "Interrupted"
            assert heard.last("turn_completed").outcome == ""
    assert await outcomes(world, "s") == ["closed", "closed"]


@pytest.mark.requirement("ends.reset-delete")
async def test_a_delete_ends_every_wait(world: World) -> None:
    async with Waiting(world, "s", GATED) as end:
        await world.at_gate("held")
        await steer(world, "DeleteSession", "s")
        heard = await end()
        assert heard.last("error").category == "Interrupted"
    assert "s" not in await world.peer.rows()


@pytest.mark.requirement("ends.goes-on")
async def test_a_message_to_a_session_that_makes_room_is_answered() -> None:
    async with World(config={"Daemon": {"MaxLiveSessions": 1}}) as world:
        await world.start()
        await world.peer.turn("idle", "[[reply:first]]")
        async with (
            Waiting(world, "busy", GATED) as busy,
            Waiting(world, "idle", "[[reply:back]]") as idle,
        ):
            await world.at_gate("held")
            assert (await world.peer.rows())["idle"].pid == 0
            world.open_gate("held")
            assert (await busy()).text == "the answer"
            assert (await idle()).text.endswith("back")
        assert await outcomes(world, "idle") == ["completed", "completed"]


@pytest.mark.requirement("ends.daemon")
async def test_a_stop_of_the_daemon_ends_the_stream_and_the_next_start_answers(
    world: World,
) -> None:
    async with Waiting(world, "s", GATED) as end:
        await world.at_gate("held")
        assert await world.stop() == 0
        assert (await end()).is_cut_off
    world.open_gate("held")
    await world.start()
    await world.peer.wait_answered("s", 1)
    assert await outcomes(world, "s") == ["completed"]


@pytest.mark.requirement("ends.daemon")
async def test_a_restart_of_the_daemon_ends_the_stream_and_goes_on(world: World) -> None:
    async with Waiting(world, "s", GATED) as end:
        await world.at_gate("held")
        generation = (await world.peer.status()).generation
        await world.peer.shutdown(is_restart=True)
        assert (await end()).is_cut_off
        await world.wait_generation(generation + 1)
    world.open_gate("held")
    await world.peer.wait_answered("s", 1)
    assert await outcomes(world, "s") == ["completed"]


@pytest.mark.requirement("ends.daemon")
async def test_a_command_that_waits_ends_with_the_daemon(world: World) -> None:
    chat = await begin(world, "chat", "-p", GATED, program=HASTY)
    await world.at_gate("held")
    assert await world.stop() == 0
    result = await finish(chat)
    assert result.code != 0
    assert result.out == ""
    assert "admitted" in result.err
    assert "Traceback" not in result.err


@pytest.mark.requirement("ends.crash")
async def test_a_turn_that_crashes_too_often_is_ended_and_told() -> None:
    async with World(config={"Supervision": {"TurnCrashLimit": 2}}) as world:
        await world.start()
        async with Waiting(world, "s", GATED) as end:
            for crash in (1, 2):
                await world.until_requests(crash)
                await kill_process(world, "s")
            heard = await end()
        assert heard.last("error").category == "Internal"
        assert heard.last("turn_completed").outcome == ""
        assert await outcomes(world, "s") == ["failed"]


@pytest.mark.requirement("ends.crash")
async def test_who_waits_for_a_session_that_is_quarantined_hears_that_it_is_kept() -> None:
    async with World(config={"Supervision": {"QuarantineCrashes": 2}}) as world:
        await world.start()
        async with Waiting(world, "s", GATED) as end:
            for crash in (1, 2):
                await world.until_requests(crash)
                await kill_process(world, "s")
            assert (await end()).last("notice").outcome == "quarantined"
        assert await outcomes(world, "s") == ["running"]
        world.open_gate("held")
        await steer(world, "RestartSession", "s")
        await world.peer.wait_answered("s", 1)
        assert await outcomes(world, "s") == ["completed"]


@pytest.mark.requirement("ends.crash")
async def test_a_turn_that_needs_too_much_memory_is_ended_and_told() -> None:
    config = {
        "Supervision": {"TurnCrashLimit": 1},
        "Session": {"Limits": {"MemoryMiB": 64}},
        "Models": {"Definitions": {"main": {"ContextWindow": 10_000_000}}},
    }
    # One wide character makes each of the others four bytes in memory.
    wide = "[[reply:\N{GRINNING FACE}]]" + "[[big:900000]]" * 3
    async with World(config=config) as world:
        await world.start()
        heard = None
        for _ in range(8):  # the history grows, until a turn does not fit any more
            async with Waiting(world, "s", wide) as end:
                heard = await end()
            if heard.last("turn_completed").outcome != "completed":
                break
        assert heard is not None
        assert heard.last("error").category == "Internal"
        assert (await outcomes(world, "s"))[-1] == "failed"
        rows = await world.peer.journal("s")
        crashes = [r["payload"]["exit_status"] for r in rows if r["type"] == "CrashRecorded"]
        assert crashes[0] == ExitCode.MEMORY
        assert (await world.peer.status()).pid == world.pid
