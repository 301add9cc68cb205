"""A person on a channel lets a command run: a whole daemon, an adapter process and a platform."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from typing import cast

import pytest

from tests.adapters.loop.server import Message
from tests.adapters.process.conftest import Channels
from tests.process.world import ASKING, merge

pytestmark = pytest.mark.timeout(120)
PATIENCE_S = 40.0


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what people see; bounded."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


def tokens(post: Message) -> dict[str, str]:
    """What the buttons of a prompt carry, by label."""
    return {cast("str", one["label"]): cast("str", one["token"]) for one in post.buttons}


@pytest.mark.requirement("channels.prompt-buttons")
@pytest.mark.requirement("channels.prompt-restart")
@pytest.mark.requirement("channels.prompt-result")
@pytest.mark.requirement("channel_symptoms.consent-and-drain")
async def test_a_command_runs_when_its_requester_presses_whoever_dies(channels: Channels) -> None:
    # Longer than a stop is waited for: sessions that had to be killed for it would fail the test.
    patient = {"Daemon": {"DrainSeconds": 300, "ShutdownSeconds": 300}}
    asking = merge(channels.world._config, merge(ASKING, patient))
    section = channels.section(AllowedUserIds=["ann", "bob"], ChannelAudiences={"room": "Personal"})
    channels.world.write_config({**asking, "Channels": {"loop": section}})
    await channels.world.start()
    call = json.dumps({"command": "tee -a ran.txt < /etc/hostname"})
    asked = await channels.server.say(f"@netclaw [[tool:shell_execute {call}]] [[results]]")

    def ours() -> list[Message]:
        return channels.server.ours(thread=asked.thread)

    await until(lambda: len(ours()) == 1)
    (prompt,) = ours()
    assert "tee -a ran.txt" in prompt.text
    old = tokens(prompt)
    await channels.server.press(prompt.id, old["Once"], sender="bob")
    await until(lambda: len(ours()) == 2)
    assert ours()[1].text == "Only the person who asked may answer this request."

    assert await channels.world.stop() == 0
    await channels.world.start()
    await until(lambda: tokens(ours()[0]).get("Once") not in (None, old["Once"]))
    renewed = tokens(ours()[0])
    os.kill((await channels.until("loop", "ready")).pid, signal.SIGKILL)
    await until(lambda: tokens(ours()[0]).get("Once") not in (None, renewed["Once"]))
    await channels.server.press(prompt.id, tokens(ours()[0])["Once"])
    await until(lambda: len(ours()) == 3)
    assert "[approval: once]" in ours()[2].text
    await until(lambda: not ours()[0].buttons)
    assert ours()[0].text.endswith("**Approved**: Once.")
    detail = await channels.world.peer.detail(f"room/{asked.thread}")
    assert not detail.open_approvals
