"""People and channels by name."""

from __future__ import annotations

import pytest

from netclaw.adapters.discord.driver import DiscordDriver
from netclaw.adapters.driver import Found
from tests.fakes.discord import DiscordServer
from tests.fakes.discord_store import ANN, CHANNEL, GUILD, LOBBY


@pytest.mark.requirement("channels_discord.lookups")
async def test_the_exact_ones_come_first_and_an_answer_is_kept(
    server: DiscordServer, driver: DiscordDriver
) -> None:
    for number in range(12):
        key = f"77{number:02}"
        server.store.channels[key] = {
            "id": key,
            "type": 0,
            "name": f"room-{number}",
            "guild_id": GUILD,
        }
    hits = await driver.find_places("#Room")
    assert hits[0] == Found(id=CHANNEL, name="room")
    assert len(hits) == 10
    calls = len(server.calls)
    assert await driver.find_places("room ") == hits
    assert len(server.calls) == calls
    assert await driver.find_places(LOBBY) == (Found(id=LOBBY, name="lobby"),)
    assert await driver.find_places("  ") == ()


@pytest.mark.requirement("channels_discord.lookups")
async def test_people_are_found_by_any_of_their_names(driver: DiscordDriver) -> None:
    assert await driver.find_users("@annie") == (Found(id=ANN, name="Annie"),)
    assert [hit.name for hit in await driver.find_users("be")] == ["ben"]


@pytest.mark.requirement("channels_discord.lookups")
async def test_a_server_that_is_closed_to_us_has_no_channels(
    server: DiscordServer, driver: DiscordDriver
) -> None:
    server.errors[f"GET /guilds/{GUILD}/channels"] = (403, 50001)
    assert await driver.find_places("room") == ()
