"""The whole way: Discord, its adapter's process, the daemon, a session, and back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from netclaw.wire.v1.admin_pb2 import AdapterRow, StatusResponse
from tests.fakes.discord import DiscordServer
from tests.fakes.discord_store import ANN, BOT, CHANNEL, DIRECT
from tests.fakes.model import FakeModel
from tests.process.world import World

pytestmark = pytest.mark.timeout(90)

LIMIT_MIB = 70.0
THREADS = 6


@pytest.fixture
async def world(server: DiscordServer) -> AsyncIterator[World]:
    """A daemon with this channel alone."""
    section = {
        "Enabled": True,
        "BotToken": server.secrets["bot_token"],
        "ApiBaseUrl": server.options["api_base_url"],
        "GatewayUrl": server.options["gateway_url"],
        "AllowedChannelIds": [CHANNEL],
        "AllowedUserIds": [ANN],
        "AllowDirectMessages": True,
    }
    async with World(
        config={"Discord": section}, model=FakeModel(title="[[reply:Small talk]]")
    ) as made:
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


@pytest.mark.requirement("channels_discord.threads")
@pytest.mark.requirement("channels_discord.direct")
@pytest.mark.requirement("channels_discord.resume")
@pytest.mark.requirement("channels_discord.memory")
async def test_every_thread_gets_its_own_answer_once(server: DiscordServer, world: World) -> None:
    row = await until_ready(world)
    assert (row.account, row.scope) == ("netclaw", "Example")
    roots = [await server.say(f"<@{BOT}> question {number}") for number in range(THREADS)]
    await server.gateway.repeat()
    await server.gateway.drop()
    await server.say("psst", channel=DIRECT)
    await world.until(lambda: all(answers(server, root.id) for root in roots))
    await world.until(lambda: len(server.ours(DIRECT, DIRECT)) == 1)
    # In a served thread nobody has to be mentioned; the answer shows that all before it is through.
    await server.say("and now?", thread=roots[-1].id)
    await world.until(lambda: answers(server, roots[-1].id) >= 2)

    assert [answers(server, root.id) for root in roots] == [1] * (THREADS - 1) + [2]
    await world.until(lambda: server.store.channels[roots[0].id]["name"] == "Small talk")
    assert server.store.typing
    status = Path(f"/proc/{row.pid}/status").read_text()  # noqa: ASYNC240 - of the kernel
    (resident,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    assert int(resident) / 1024 < LIMIT_MIB
    log = (world.home / "logs" / "adapter-discord.log").read_text()
    assert not any(token in log for token in server.secrets.values())


def answers(server: DiscordServer, thread: str) -> int:
    """How often we posted in a thread."""
    return len(server.ours(CHANNEL, thread))
