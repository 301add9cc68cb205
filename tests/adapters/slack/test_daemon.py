"""The whole way: Slack, its adapter's process, the daemon, a session, and back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from netclaw.wire.v1.admin_pb2 import AdapterRow, StatusResponse
from tests.fakes.slack import SlackServer
from tests.fakes.slack_store import ANN, BOT, BOT_USER, CHANNEL
from tests.process.world import World

pytestmark = pytest.mark.timeout(90)

LIMIT_MIB = 70.0
THREADS = 10


@pytest.fixture
async def world(slack: SlackServer) -> AsyncIterator[World]:
    """A daemon with this channel alone."""
    section = {
        "Enabled": True,
        "BotToken": slack.secrets["bot_token"],
        "AppToken": slack.secrets["app_token"],
        "ApiBaseUrl": slack.options["api_base_url"],
        "AllowedChannelIds": [CHANNEL],
        "AllowedUserIds": [ANN],
    }
    async with World(config={"Slack": section}) as made:
        await made.start()
        yield made


async def until_ready(world: World) -> AdapterRow:
    """The adapter as `status` shows it, once it is connected."""

    def row(status: StatusResponse) -> AdapterRow | None:
        return next((row for row in status.adapters if row.state == "ready"), None)

    status = await world.peer.wait_status(lambda found: row(found) is not None)
    found = row(status)
    assert found is not None
    return found


@pytest.mark.requirement("channels_slack.threads")
@pytest.mark.requirement("channels_slack.mention-once")
@pytest.mark.requirement("channels_slack.memory")
async def test_every_thread_gets_its_own_answer_once(slack: SlackServer, world: World) -> None:
    row = await until_ready(world)
    assert (row.account, row.scope) == ("netclaw", "Example")
    roots = [
        await slack.say(f"<@{BOT_USER}> question {number}", as_mention=True)
        for number in range(THREADS)
    ]
    await slack.say_again()
    await world.until(lambda: answered(slack) >= {root.ts for root in roots})
    await slack.events.until_acknowledged()
    # In a served thread nobody has to be mentioned; the answer shows that all before it is through.
    await slack.say("and now?", thread=roots[-1].ts)
    await world.until(lambda: len(slack.ours(CHANNEL, roots[-1].ts)) >= 2)

    assert [len(slack.ours(CHANNEL, root.ts)) for root in roots] == [1] * (THREADS - 1) + [2]
    assert slack.store.signs[f"{CHANNEL}/{roots[0].ts}"][0]
    status = Path(f"/proc/{row.pid}/status").read_text()  # noqa: ASYNC240 - of the kernel
    (resident,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    assert int(resident) / 1024 < LIMIT_MIB
    log = (world.home / "logs" / "adapter-slack.log").read_text()
    assert not any(token in log for token in slack.secrets.values())


@pytest.mark.requirement("channel_sends.once")
@pytest.mark.requirement("channel_sends.file")
async def test_a_session_begins_a_thread_and_sends_a_file(slack: SlackServer, world: World) -> None:
    await until_ready(world)
    load = json.dumps({"name": "send_channel_message"})
    send = json.dumps({"channel_key": "slack", "destination": CHANNEL, "text": "Ahoy"})
    write = json.dumps({"path": "note.txt", "content": "abc"})
    attach = json.dumps({"path": "note.txt"})
    asked = await slack.say(
        f"<@{BOT_USER}> [[tool:load_tool {load}]] [[next]] [[tool:send_channel_message {send}]]"
        f" [[next]] [[tool:file_write {write}]] [[next]] [[tool:attach_file {attach}]]"
        " [[next]] [[results]]",
        as_mention=True,
    )
    await world.until(
        lambda: any("Attached note.txt" in post.shown for post in slack.ours(CHANNEL, asked.ts))
    )
    begun = [
        post
        for post in slack.store.messages.values()
        if post.bot_id == BOT and post.ts == post.thread
    ]
    assert [post.shown for post in begun] == ["Ahoy"]
    assert f"{CHANNEL}/{begun[0].ts}" in await world.peer.rows()
    assert b"abc" in slack.store.files.values()


def answered(slack: SlackServer) -> set[str]:
    """The threads in which we posted."""
    return {message.thread for message in slack.store.messages.values() if message.bot_id == BOT}
