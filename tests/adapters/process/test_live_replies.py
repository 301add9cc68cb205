"""A reply that is shown while it is made: a whole daemon, an adapter process and a platform."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from netclaw.adapters.live_edit import CURSOR
from tests.adapters.process.conftest import Channels

pytestmark = pytest.mark.timeout(120)
PATIENCE_S = 40.0


async def until_shown(channels: Channels, thread: str, *texts: str) -> None:
    """Wait until exactly these posts of ours are in a thread; bounded."""
    async with asyncio.timeout(PATIENCE_S):
        while [post.text for post in channels.server.ours(thread=thread)] != list(texts):
            await asyncio.sleep(0.01)


@pytest.mark.requirement("channels.live-edit")
async def test_one_message_becomes_the_reply_whoever_dies(channels: Channels) -> None:
    await channels.begin(loop=channels.section(LiveEdit=True))
    row = await channels.until("loop", "ready")
    one = await channels.server.say("@netclaw [[gate_after:2:mid]][[reply:one two three]]")
    await until_shown(channels, one.thread, f"one two{CURSOR}")
    channels.world.open_gate("mid")
    await until_shown(channels, one.thread, "one two three")

    await channels.server.say("[[gate_after:2:later]][[reply:four five six]]", thread=one.thread)
    await until_shown(channels, one.thread, "one two three", f"four five{CURSOR}")
    os.kill(row.pid, signal.SIGKILL)
    channels.world.open_gate("later")
    await until_shown(channels, one.thread, "one two three", "four five six")
    live = [post.key for post in channels.server.ours(thread=one.thread)]
    assert all(key.startswith("e.") for key in live), "no reply was posted beside its message"
