"""Messages between sessions while sender, target or daemon is killed: told once, never twice."""

from __future__ import annotations

import time

import pytest

from tests.process.run_calls import kill
from tests.process.session_calls import (
    ASKER,
    TARGET,
    answers,
    from_sessions,
    late_replies,
    one_reply,
    send,
    texts,
    until_sent,
)
from tests.process.world import World

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.requirement("sends.reply-once", "signals.trouble-23"),
]
REPLY = "the one reply"
VICTIMS = ("sender", "target", "daemon")
"""Whom each step sees die; where both ends are in the middle of it, also all of them at once."""


async def strike(world: World, victim: str) -> None:
    """SIGKILL, and whatever is dead comes back by itself or is started again."""
    rows = await world.peer.rows()
    pids = {"sender": [rows[ASKER].pid], "target": [rows[TARGET].pid], "daemon": []}
    for pid in pids.get(victim, [rows[ASKER].pid, rows[TARGET].pid]):
        if pid:
            kill(pid)
    if victim in {"daemon", "all"}:
        await world.kill()
        await world.start()


async def sending(world: World, message: str, *, wait_s: int = 60) -> None:
    """A turn that sends, which is under way."""
    await world.peer.turn(ASKER, "[[reply:here]]")
    await world.peer.turn(TARGET, "[[reply:there]]")
    await world.peer.send(ASKER, f"{send(message, wait_s=wait_s)} [[reply:thanks]]")


async def check_sent_once(world: World) -> None:
    """The target was told once."""
    assert len(from_sessions(await world.peer.journal(TARGET))) == 1


@pytest.mark.parametrize("victim", [*VICTIMS, "all"])
async def test_a_death_while_the_targets_turn_runs(world: World, victim: str) -> None:
    await sending(world, f"[[gate:work]] [[reply:{REPLY}]]")
    await world.at_gate("work")
    await strike(world, victim)
    world.open_gate("work")
    if victim != "target":
        await late_replies(world, 1)
    how = await one_reply(world, REPLY)
    assert how == ("inline" if victim == "target" else "late")
    await check_sent_once(world)


@pytest.mark.parametrize("victim", VICTIMS)
async def test_a_death_before_the_targets_turn_begins(world: World, victim: str) -> None:
    await world.peer.turn(ASKER, "[[reply:here]]")
    await world.peer.send(TARGET, "[[gate:busy]] [[reply:there]]")
    await world.at_gate("busy")
    await world.peer.send(ASKER, f"{send(f'[[reply:{REPLY}]]', wait_s=60)} [[reply:ok]]")
    await until_sent(world)
    await strike(world, victim)
    world.open_gate("busy")
    if victim != "target":
        await late_replies(world, 1)
    await one_reply(world, REPLY)
    await check_sent_once(world)


@pytest.mark.parametrize("victim", VICTIMS)
async def test_a_death_after_the_call_ended_without_the_reply(world: World, victim: str) -> None:
    await sending(world, f"[[gate:work]] [[reply:{REPLY}]]", wait_s=0)
    await world.at_gate("work")
    await world.peer.wait_answered(ASKER, 2)
    await strike(world, victim)
    world.open_gate("work")
    await late_replies(world, 1)
    assert await one_reply(world, REPLY) == "late"
    await check_sent_once(world)


@pytest.mark.parametrize("victim", VICTIMS)
async def test_a_death_after_the_result_that_holds_the_reply(world: World, victim: str) -> None:
    await sending(world, f"[[reply:{REPLY}]] ")
    await world.peer.wait_answered(ASKER, 2)
    (told,) = answers(await world.peer.journal(ASKER))
    assert told["status"] == "ok"
    await strike(world, victim)
    assert await one_reply(world, REPLY) == "inline"
    await world.peer.turn(ASKER, "[[reply:still]]")
    assert await one_reply(world, REPLY) == "inline"
    await check_sent_once(world)


@pytest.mark.parametrize("victim", VICTIMS)
async def test_a_death_while_the_late_reply_is_being_told(world: World, victim: str) -> None:
    await sending(world, f"[[gate:work]] [[reply:{REPLY}]]", wait_s=0)
    await world.at_gate("work")
    await world.peer.wait_answered(ASKER, 2)
    # The sender is at work when the reply comes, so that it waits in its queue.
    await world.peer.send(ASKER, "[[gate:mine]] [[reply:done]]")
    await world.at_gate("mine")
    world.open_gate("work")
    await world.peer.wait_row(ASKER, lambda row: row.pending_inputs == 2)
    await strike(world, victim)
    world.open_gate("mine")
    await late_replies(world, 1)
    assert await one_reply(world, REPLY) == "late"
    await check_sent_once(world)


@pytest.mark.requirement("sends.wait")
async def test_a_restart_in_place_ends_the_wait_and_the_reply_comes_after_it(world: World) -> None:
    await sending(world, f"[[gate:work]] [[reply:{REPLY}]]", wait_s=600)
    await world.at_gate("work")
    began = time.monotonic()
    await world.restart()
    assert time.monotonic() - began < 60
    world.open_gate("work")
    assert await one_reply(world, REPLY) == "late"
    (told,) = [text for text in texts(await world.peer.journal(ASKER), "sessions_send") if text]
    assert REPLY not in told
    await check_sent_once(world)


@pytest.mark.parametrize("round_ms", [0, 15, 60])
async def test_a_daemon_that_dies_at_any_moment_of_a_message(world: World, round_ms: int) -> None:
    await sending(world, f"[[pace:{round_ms}]] [[reply:{REPLY}]]")
    await until_sent(world)
    await world.kill()
    await world.start()
    how = await one_reply(world, REPLY)
    await world.peer.turn(ASKER, "[[reply:still]]")
    assert await one_reply(world, REPLY) == how
    await check_sent_once(world)
