"""Sessions write to channels and hand files on: a whole daemon, an adapter and a platform."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable

import pytest

from netclaw.wire.v1 import gateway_pb2
from tests.adapters.loop.server import Fault, Message
from tests.adapters.process.conftest import Channels
from tests.process.world import ASKING, merge

pytestmark = pytest.mark.timeout(120)
PATIENCE_S = 60.0


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what people see; bounded."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


def call(tool: str, **arguments: str) -> str:
    """A line that has the model call a deferred tool and show what it gave."""
    loaded = json.dumps({"name": tool})
    return (
        f"[[tool:load_tool {loaded}]] [[next]] [[tool:{tool} {json.dumps(arguments)}]]"
        " [[next]] [[results]]"
    )


def at(channels: Channels, room: str) -> list[Message]:
    """What we posted in a room."""
    return channels.server.ours(room)


@pytest.mark.requirement("channel_sends.acl")
@pytest.mark.requirement("channel_sends.file")
@pytest.mark.requirement("channel_sends.lookup")
@pytest.mark.requirement("channel_sends.once")
@pytest.mark.requirement("channel_sends.session")
@pytest.mark.requirement("channel_sends.words")
async def test_a_conversation_begins_threads_elsewhere_and_attaches_a_file(
    channels: Channels,
) -> None:
    section = channels.section(
        AllowedChannelIds=["room", "lobby"], AllowDirectMessages=True, AllowedUserIds=["ann"]
    )
    await channels.begin(loop=section)
    row = await channels.until("loop", "ready")
    channels.server.rooms["secret"] = "The Secret"

    async def ask(text: str) -> str:
        """The answer in a thread of its own."""
        asked = await channels.server.say(f"@netclaw {text}")
        await until(lambda: bool(channels.server.ours(thread=asked.thread)))
        return channels.server.ours(thread=asked.thread)[-1].text

    found = await ask(call("lookup_channel_destination", channel_key="loop", name="The"))
    assert '"id":"lobby"' in found
    assert "secret" not in found
    refused = await ask(
        call("send_channel_message", channel_key="loop", destination="secret", text="hello")
    )
    assert "may not be written to" in refused
    assert at(channels, "secret") == []

    # The answer is lost and the adapter dies: the post is found again, not made again.
    channels.server.faults.append(Fault.ACCEPTED_THEN_500)
    sent = asyncio.create_task(
        ask(call("send_channel_message", channel_key="loop", destination="lobby", text="Ahoy all"))
    )
    await until(lambda: len(at(channels, "lobby")) == 1)
    os.kill(row.pid, signal.SIGKILL)
    answer = await sent
    (post,) = at(channels, "lobby")
    assert post.text == "Ahoy all"
    assert f'"sessionKey":"lobby/{post.thread}"' in answer
    # Its thread is a session that knows what was posted, and is talked to without a mention.
    await channels.server.say("any questions?", room="lobby", thread=post.thread)
    await until(lambda: len(at(channels, "lobby")) >= 2)
    assert "Ahoy all" in at(channels, "lobby")[1].text
    rows = await channels.world.peer.rows()
    assert rows[f"lobby/{post.thread}"].audience == "Team"

    direct = await ask(
        call("send_channel_message", channel_key="loop", destination="ann", text="Psst")
    )
    assert '"status":"sent"' in direct
    assert [one.text for one in at(channels, "dm-ann")] == ["Psst"]

    write = json.dumps({"path": "note.txt", "content": "abc"})
    attach = json.dumps({"path": "note.txt"})
    asked = await channels.server.say(
        f"@netclaw [[tool:file_write {write}]] [[next]] [[tool:attach_file {attach}]]"
        " [[next]] [[reply:there it is]]"
    )
    await until(lambda: len(channels.server.ours(thread=asked.thread)) == 2)
    shown, reply = channels.server.ours(thread=asked.thread)
    assert [file["name"] for file in shown.files] == ["note.txt"]
    assert channels.server.files[str(shown.files[0]["id"])] == b"abc"
    assert reply.text == "there it is"

    # All processes die while nobody knows whether the post was made. The next one to the same place
    # comes behind it.
    channels.server.faults.append(Fault.ACCEPTED_THEN_500)
    await channels.server.say(
        "@netclaw "
        + call("send_channel_message", channel_key="loop", destination="lobby", text="Once")
    )
    await until(lambda: any(post.text == "Once" for post in at(channels, "lobby")))
    await channels.world.kill()
    await channels.world.start()
    await ask(call("send_channel_message", channel_key="loop", destination="lobby", text="Last"))
    posted = [post.text for post in at(channels, "lobby") if post.thread == post.id]
    assert posted == ["Ahoy all", "Once", "Last"]


@pytest.mark.requirement("channel_sends.dead-buttons")
@pytest.mark.requirement("channel_sends.orphan")
async def test_what_a_dead_adapter_showed_has_its_end(channels: Channels) -> None:
    asking = merge(channels.world._config, ASKING)
    section = channels.section(ChannelAudiences={"room": "Personal"}, LiveEdit=True)
    channels.world.write_config({**asking, "Channels": {"loop": section}})
    await channels.world.start()
    row = await channels.until("loop", "ready")
    command = json.dumps({"command": "tee -a ran.txt < /etc/hostname"})
    asked = await channels.server.say(f"@netclaw [[tool:shell_execute {command}]] [[results]]")
    await until(lambda: len(channels.server.ours(thread=asked.thread)) == 1)
    live = await channels.server.say("@netclaw [[gate_after:2:mid]][[reply:one two three]]")
    await until(lambda: len(channels.server.ours(thread=live.thread)) == 1)

    # Its next start cannot reach the platform before both turns are over.
    channels.server.is_down = True
    os.kill(row.pid, signal.SIGKILL)
    peer = channels.world.peer
    for thread in (asked.thread, live.thread):
        request = gateway_pb2.StopTurnRequest(session_id=f"room/{thread}")
        assert (await peer.gateway.StopTurn(request, metadata=peer.metadata)).was_running
    await peer.wait_row(
        f"room/{live.thread}", lambda found: found.turns == 1 and found.phase != "processing"
    )
    await peer.approvals(f"room/{asked.thread}", 0)
    channels.server.is_down = False
    await until(lambda: not channels.server.ours(thread=live.thread))
    await until(lambda: not channels.server.ours(thread=asked.thread)[0].buttons)
    assert channels.server.ours(thread=asked.thread)[0].text.endswith("**Withdrawn**.")
