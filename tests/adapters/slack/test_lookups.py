"""People and channels by name."""

from __future__ import annotations

import pytest

from netclaw.adapters.driver import ChannelConfig, Found
from netclaw.adapters.slack.client import SlackClient
from netclaw.adapters.slack.driver import SlackDriver
from netclaw.adapters.slack.lookups import KEPT_S, MOST, Lookups
from tests.fakes.slack import SlackServer
from tests.fakes.slack_store import ANN, BEN, CHANNEL

pytestmark = pytest.mark.requirement("channels_slack.lookups")


async def test_every_name_of_a_person_counts(driver: SlackDriver) -> None:
    ann = (Found(id=ANN, name="Ann Example"),)
    for text in ("ann", "@Ann", "example", ANN, "ANN EXAMPLE"):
        assert await driver.find_users(text) == ann, text
    assert await driver.find_users("big b") == (Found(id=BEN, name="Big Ben"),)
    assert await driver.find_users("ann-gone") == ()
    assert await driver.find_users("  ") == ()


async def test_a_channel_is_found_by_its_name(driver: SlackDriver) -> None:
    assert await driver.find_places("#room") == (Found(id=CHANNEL, name="room"),)


async def test_ten_at_most_and_the_exact_one_first(slack: SlackServer, driver: SlackDriver) -> None:
    slack.page_size = 7
    slack.store.channels |= {f"C{number}": f"team-{number}" for number in range(30)}
    slack.store.channels["C0TEAM"] = "team"
    found = await driver.find_places("team")
    assert len(found) == MOST
    assert found[0] == Found(id="C0TEAM", name="team")


async def test_an_answer_is_good_for_five_minutes(slack: SlackServer) -> None:
    now = 0.0
    client = SlackClient(ChannelConfig(name="slack", secrets=slack.secrets, options=slack.options))
    lookups = Lookups(client, monotonic=lambda: now)
    first = await lookups.users("ann")
    asked = len(slack.calls)
    now = KEPT_S - 1
    assert await lookups.users("Ann") == first
    assert len(slack.calls) == asked
    now = KEPT_S + 1
    await lookups.users("ann")
    assert len(slack.calls) > asked
    await client.close()
