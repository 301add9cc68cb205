"""People on a channel talk with sessions: a whole daemon, an adapter process and a platform."""

from __future__ import annotations

import asyncio
import json
import os
import signal

import pytest

from tests.adapters.loop.server import Fault, Message
from tests.adapters.process.conftest import Channels

pytestmark = pytest.mark.timeout(90)
PATIENCE_S = 30.0


async def answers(channels: Channels, thread: str, *wanted: str) -> list[Message]:
    """Wait until we posted exactly so much in a thread; bounded."""
    async with asyncio.timeout(PATIENCE_S):
        while len(found := channels.server.ours(thread=thread)) < len(wanted):
            await asyncio.sleep(0.01)
    assert [message.text for message in found] == list(wanted)
    return found


@pytest.mark.requirement("channel_host.conversation")
async def test_a_thread_is_a_session_and_is_answered_in_place(channels: Channels) -> None:
    await channels.begin(loop=channels.section())
    one = await channels.server.say("@netclaw [[reply:first answer]]")
    other = await channels.server.say("@netclaw [[reply:other answer]]")
    ignored = await channels.server.say("@netclaw hello", sender="bob")
    await answers(channels, one.thread, "first answer")
    await answers(channels, other.thread, "other answer")
    await channels.server.say("[[reply:second answer]]", thread=one.thread)
    await answers(channels, one.thread, "first answer", "second answer")

    await channels.server.until_acknowledged()
    rows = await channels.world.peer.rows()
    assert {name: row.channel for name, row in rows.items()} == {
        f"room/{one.thread}": "channel:loop",
        f"room/{other.thread}": "channel:loop",
    }
    assert rows[f"room/{one.thread}"].audience == "Team"
    assert channels.server.ours(thread=ignored.thread) == []
    row = await channels.until("loop", "ready")
    assert row.counters["admitted"] <= 3


@pytest.mark.requirement("channel_host.conversation")
@pytest.mark.requirement("channel_symptoms.restart-in-a-thread")
async def test_each_message_is_answered_once_whoever_dies(channels: Channels) -> None:
    await channels.begin(loop=channels.section())
    row = await channels.until("loop", "ready")
    channels.server.faults.append(Fault.ACCEPTED_THEN_500)
    one = await channels.server.say("@netclaw [[reply:before]]")
    await answers(channels, one.thread, "before")
    os.kill(row.pid, signal.SIGKILL)
    await channels.server.say("[[reply:adapter died]]", thread=one.thread)
    await answers(channels, one.thread, "before", "adapter died")

    await channels.world.kill()
    await channels.server.say("[[reply:daemon died]]", thread=one.thread)
    await channels.world.start()
    await answers(channels, one.thread, "before", "adapter died", "daemon died")
    call = json.dumps({"path": "."})
    held = f"[[tool:file_list {call}]] [[next]] [[gate:mid]][[reply:went on]]"
    await channels.server.say(held, thread=one.thread)
    await channels.world.at_gate("mid")
    await channels.world.restart()
    channels.world.open_gate("mid")
    said = ["before", "adapter died", "daemon died", "went on"]
    await answers(channels, one.thread, *said)  # nobody wrote again
    await channels.server.say("[[reply:restarted]]", thread=one.thread)
    await answers(channels, one.thread, *said, "restarted")
    await channels.server.until_acknowledged()


@pytest.mark.requirement("channel_host.drain")
async def test_the_last_words_before_a_stop_are_delivered(channels: Channels) -> None:
    channels.world._config["Daemon"] = {"DrainSeconds": 1}  # the model's answer is not waited for
    await channels.begin(loop=channels.section())
    call = json.dumps({"path": "."})
    one = await channels.server.say(
        f"@netclaw [[tool:file_list {call}]] [[next]] [[gate:hold]][[reply:held]]"
    )
    await channels.world.at_gate("hold")
    # A turn that did something and has a second message behind it cannot simply go on after the
    # start, so its people are told.
    await channels.server.say("and [[reply:after]]", thread=one.thread)
    await channels.server.until_acknowledged()
    assert await channels.world.stop() == 0
    (last,) = channels.server.ours(thread=one.thread)
    assert "stopping" in last.text
