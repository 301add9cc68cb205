"""The whole way: Mattermost, its adapter's process, the daemon, a session, and back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from netclaw.adapters.prompt_text import NOT_YOURS
from netclaw.wire.v1.admin_pb2 import AdapterRow
from tests.adapters.mattermost.rig import buttons_at, free_port
from tests.fakes.mattermost import MattermostServer
from tests.fakes.mattermost_store import ANN, BEN, CHANNEL, Json
from tests.process.run_calls import kill, shell
from tests.process.world import ASKING, World, merge

pytestmark = pytest.mark.timeout(180)

PATIENCE_S = 60.0
LIMIT_MIB = 70.0
THREADS = 6
COMMAND = "cp /etc/hostname copied.txt"


@pytest.fixture
async def world(mattermost: MattermostServer) -> AsyncIterator[World]:
    """A daemon with this channel alone, with buttons."""
    mattermost.page_size = 50
    at = buttons_at(free_port())
    section = {
        "Enabled": True,
        "BotToken": mattermost.secrets["bot_token"],
        "ServerUrl": mattermost.url,
        "CallbackUrl": at["callback_url"],
        "CallbackListen": at["callback_listen"],
        "AllowedChannelIds": [CHANNEL],
        "AllowedUserIds": [ANN, BEN],
        "ChannelAudiences": {CHANNEL: "Personal"},
    }
    async with World(config=merge(ASKING, {"Mattermost": section})) as made:
        await made.start()
        yield made


async def ready(world: World, *, other_than: int = 0) -> AdapterRow:
    """The adapter as `status` shows it, once it is connected."""

    def found(rows: list[AdapterRow]) -> AdapterRow | None:
        good = (row for row in rows if row.state == "ready" and row.pid not in (0, other_than))
        return next(good, None)

    status = await world.peer.wait_status(lambda seen: found(list(seen.adapters)) is not None)
    row = found(list(status.adapters))
    assert row is not None
    return row


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what people see; bounded."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.02)


def buttons(post: Json) -> dict[str, str]:
    """The tokens of a post's buttons, by label."""
    return {
        action["name"]: action["integration"]["context"]["token"]
        for part in post["props"].get("attachments", [])
        for action in part["actions"]
    }


@pytest.mark.requirement("channels_mattermost.threads")
@pytest.mark.requirement("channels_mattermost.resume")
@pytest.mark.requirement("channels_mattermost.memory")
async def test_every_thread_gets_its_own_answer_once_and_its_person_decides(
    mattermost: MattermostServer, world: World
) -> None:
    row = await ready(world)
    assert row.account == "netclaw"
    roots = [await mattermost.say(f"@netclaw question {number}") for number in range(THREADS)]
    await mattermost.events.send_again()
    await mattermost.events.drop()
    roots.append(await mattermost.say("@netclaw while nobody listened"))
    await until(lambda: all(mattermost.ours(CHANNEL, root["id"]) for root in roots))
    # In a served thread nobody has to be mentioned; the answer shows that all before it is through.
    await mattermost.say("and now?", root=roots[-2]["id"])
    await until(lambda: len(mattermost.ours(CHANNEL, roots[-2]["id"])) >= 2)
    answers = [len(mattermost.ours(CHANNEL, root["id"])) for root in roots]
    assert answers == [1] * (THREADS - 1) + [2, 1]

    root = await mattermost.say(f"@netclaw {shell(COMMAND)} [[results]]")
    thread = root["id"]

    def ours(words: str) -> list[Json]:
        return [post for post in mattermost.ours(CHANNEL, thread) if words in post["message"]]

    await until(lambda: any(buttons(post) for post in ours(COMMAND)))
    (prompt,) = ours(COMMAND)
    first = buttons(prompt)["Once"]
    await mattermost.press(prompt["id"], first, user=BEN)
    await until(lambda: bool(ours(NOT_YOURS)))

    kill(row.pid)
    after = await ready(world, other_than=row.pid)
    await until(lambda: buttons(prompt).get("Once") not in (None, first))
    await mattermost.press(prompt["id"], buttons(prompt)["Once"])
    await until(lambda: not buttons(prompt))
    await until(lambda: bool(ours("[approval: once]")))
    assert prompt["message"].endswith("**Approved**: Once.")
    assert len(ours(COMMAND)) == 1, "it was asked twice"

    status = Path(f"/proc/{after.pid}/status").read_text()  # noqa: ASYNC240 - of the kernel
    (resident,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    assert int(resident) / 1024 < LIMIT_MIB
    log = (world.home / "logs" / "adapter-mattermost.log").read_text()
    assert mattermost.secrets["bot_token"] not in log
