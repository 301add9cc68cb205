"""Mattermost's events through cuts, gaps, silence and rubbish."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp import web

from netclaw.adapters.driver import Health, Post
from netclaw.adapters.mattermost.connection import LARGEST, Order, Resume
from netclaw.adapters.mattermost.driver import MattermostDriver
from tests.adapters.rig import PATIENCE_S, Inbox
from tests.fakes.mattermost import MAX_SINCE, Fault, MattermostServer
from tests.fakes.mattermost_store import ANN, CHANNEL, TEAM, an_id

OTHER = an_id("other")


@pytest.mark.requirement("channels_mattermost.resume")
def test_events_have_an_order() -> None:
    resume = Resume()
    assert resume.query == {}
    resume.greet("c1")
    assert [resume.take(number) for number in (1, 1, 3, 2)] == [
        Order.NEXT,
        Order.KNOWN,
        Order.AHEAD,
        Order.NEXT,
    ]
    assert resume.query == {"connection_id": "c1", "sequence_number": "3"}
    assert resume.behind_since_ms is None, "nothing was heard yet, and so nothing missed"
    resume.newest_at_ms = 7
    resume.begin_anew()
    assert resume.query == {}


@pytest.mark.requirement("channels_mattermost.resume")
@pytest.mark.parametrize("newest_ms", [0, 7])
def test_what_was_missed_begins_with_what_was_heard(newest_ms: int) -> None:
    # Else all that was ever said would be taken for missed, and answered.
    resume = Resume(newest_at_ms=newest_ms)
    resume.begin_anew()
    resume.fall_behind(0)
    resume.greet("c1")
    assert resume.behind_since_ms == (newest_ms or None)


@pytest.mark.requirement("channels_mattermost.resume")
async def test_what_was_said_while_the_connection_was_lost_comes_in_order(
    mattermost: MattermostServer, driver: MattermostDriver, inbox: Inbox
) -> None:
    await mattermost.say("one")
    assert (await inbox.message()).text == "one"
    await mattermost.events.drop()
    for text in ("two", "three"):
        await mattermost.say(text)
    assert [(await inbox.message()).text for _ in range(2)] == ["two", "three"]
    assert mattermost.events.opened[-1]["sequence_number"] == "2"
    assert len(mattermost.events.connections) == 1
    assert driver.health() is Health.READY


@pytest.mark.requirement("channels_mattermost.resume")
async def test_a_server_that_forgot_the_connection_is_asked_for_what_was_missed(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    await mattermost.say("one")
    first = await inbox.message()
    mattermost.events.forgets = True
    await mattermost.events.drop()
    await mattermost.say("two")
    texts = [(await inbox.message()) for _ in range(2)]
    # The margin gives the one before it once more; its id tells that it is known.
    assert [item.text for item in texts] == ["one", "two"]
    assert texts[0].event_id == first.event_id


@pytest.mark.requirement("channels_mattermost.resume")
async def test_an_event_that_was_passed_over_is_asked_for(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    mattermost.events.skips = 1
    await mattermost.say("never sent")
    await mattermost.say("after it")
    seen: list[str] = []
    while "after it" not in seen:
        seen.append((await inbox.message()).text)
    assert seen == ["never sent", "after it"]


@pytest.mark.requirement("channels_mattermost.resume")
async def test_all_that_was_missed_is_asked_for_however_much_it_is(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    first = await mattermost.say("first")
    assert (await inbox.message()).text == "first"
    mattermost.events.forgets = True
    missed = [f"missed {number}" for number in range(MAX_SINCE + 5)]
    for text in missed:
        mattermost.store.add_post(CHANNEL, ANN, text, root=first["id"])
    await mattermost.events.drop()
    texts = [(await inbox.message()).text for _ in range(len(missed) + 1)]
    assert texts == ["first", *missed]


@pytest.mark.requirement("channels_mattermost.resume")
async def test_a_channel_that_is_closed_keeps_nothing_of_the_others_away(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    mattermost.store.add_channel(OTHER, "P", "closed", TEAM)
    await mattermost.say("one")
    assert (await inbox.message()).text == "one"
    mattermost.closed.add(OTHER)
    mattermost.events.forgets = True
    mattermost.store.add_post(OTHER, ANN, "behind a door")
    mattermost.store.add_post(CHANNEL, ANN, "two")
    await mattermost.events.drop()
    assert [(await inbox.message()).text for _ in range(2)] == ["one", "two"]


@pytest.mark.requirement("channels_mattermost.resume")
async def test_a_long_thread_does_not_come_with_each_of_its_posts(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    mattermost.channel_page_size = 2
    root = await mattermost.say("root")
    large = {"of others": "x" * (LARGEST // 8)}
    for _ in range(9):
        mattermost.store.add_post(CHANNEL, ANN, "large", root=root["id"], props=large)
    assert (await inbox.message()).text == "root"
    mattermost.events.forgets = True
    mattermost.store.add_post(CHANNEL, ANN, "missed", root=root["id"])
    await mattermost.events.drop()
    texts = [(await inbox.message()).text for _ in range(11)]
    assert texts == ["root", *["large"] * 9, "missed"]


@pytest.mark.requirement("channels_mattermost.resume")
async def test_a_server_that_limits_calls_is_asked_for_all_channels_in_the_end(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    others = [an_id(f"other{number}") for number in range(5)]
    for channel in others:
        mattermost.store.add_channel(channel, "O", "other", TEAM)
    await mattermost.say("before")
    assert (await inbox.message()).text == "before"
    mattermost.burst = 3
    mattermost.retry_after_s = 0.01
    mattermost.events.forgets = True
    for channel in others:
        mattermost.store.add_post(channel, ANN, f"missed in {channel}")
    await mattermost.events.drop()
    texts = [(await inbox.message()).text for _ in range(len(others) + 1)]
    assert texts == ["before", *(f"missed in {channel}" for channel in others)]


@pytest.mark.requirement("channels_mattermost.resume")
async def test_a_server_that_does_not_tell_of_channels_is_served_from_now_on(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    await mattermost.say("before")
    assert (await inbox.message()).text == "before"
    mattermost.unknown.add("channels")
    mattermost.events.forgets = True
    await mattermost.events.drop()
    async with asyncio.timeout(PATIENCE_S):
        while "channels" not in [call.name for call in mattermost.calls]:
            await asyncio.sleep(0.01)
    await mattermost.say("after")
    assert (await inbox.message()).text == "after"


@pytest.mark.requirement("channels_mattermost.read")
async def test_a_post_of_ours_stays_a_machines_when_it_is_changed(
    mattermost: MattermostServer, driver: MattermostDriver, inbox: Inbox
) -> None:
    await mattermost.say("hello")
    thread = (await inbox.message()).thread
    post_id = await driver.post(Post(thread=thread, key="1.0", text="half"))
    await driver.edit(thread, post_id, "whole", ())
    assert mattermost.store.posts[post_id]["props"]["from_bot"] == "true"
    assert await driver.find_post(thread, "1.0") == post_id


@pytest.mark.requirement("channels_mattermost.resume")
async def test_what_could_not_be_read_and_what_came_behind_it_comes_again(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    mattermost.broken.append("channel")
    for text in ("one", "two"):
        post = mattermost.store.add_post(CHANNEL, ANN, text)
        # Without a word on its channel, which is asked for.
        await mattermost.events.send("posted", {"post": json.dumps(post)})
    assert [(await inbox.message()).text for _ in range(2)] == ["one", "two"]
    assert not mattermost.broken


@pytest.mark.requirement("channels_mattermost.resume")
async def test_an_event_out_of_order_keeps_its_id(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    await mattermost.say("one")
    await mattermost.say("two")
    one, two = [await inbox.message() for _ in range(2)]
    await mattermost.events.send_late(1)
    await mattermost.say("three")
    again = await inbox.message()
    assert (one.text, two.text, again.event_id) == ("one", "two", one.event_id)
    assert (await inbox.message()).text == "three"


@pytest.mark.requirement("channels_mattermost.resume")
async def test_a_half_open_connection_is_noticed(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    await mattermost.say("before")
    assert (await inbox.message()).text == "before"
    mattermost.events.go_deaf()
    async with asyncio.timeout(PATIENCE_S):
        while len(mattermost.events.opened) < 2:
            await asyncio.sleep(0.01)
    await mattermost.say("after")
    assert (await inbox.message()).text == "after"


@pytest.mark.requirement("channels_mattermost.failures")
async def test_a_token_that_is_revoked_is_noticed_though_the_connection_stays(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    await mattermost.say("before")
    assert (await inbox.message()).text == "before"
    mattermost.is_revoked = mattermost.events.is_revoked = True
    async with asyncio.timeout(PATIENCE_S):
        failure = await inbox.failure
    assert "refuses the token" in failure.sentence


@pytest.mark.requirement("channels_mattermost.resume")
async def test_a_post_of_megabytes_ends_no_connection(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    await mattermost.say("large", props={"of others": "x" * 6 * 1024 * 1024})
    await mattermost.say("behind it")
    assert [(await inbox.message()).text for _ in range(2)] == ["large", "behind it"]
    assert len(mattermost.events.opened) == 1


@pytest.mark.requirement("channels_mattermost.resume")
async def test_an_event_that_is_too_large_is_passed_over(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    mattermost.store.add_channel(OTHER, "O", "other", TEAM)
    await mattermost.say("x", channel=OTHER, props={"of others": "x" * LARGEST})
    await mattermost.say("behind it")
    assert (await inbox.message()).text == "behind it"


@pytest.mark.requirement("channels_mattermost.resume")
async def test_an_event_that_is_too_large_is_passed_over_by_who_comes_back(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    mattermost.store.add_channel(OTHER, "O", "other", TEAM)
    await mattermost.events.drop()
    await mattermost.say("x", channel=OTHER, props={"of others": "x" * LARGEST})
    await mattermost.say("behind it")
    assert (await inbox.message()).text == "behind it"


@pytest.mark.requirement("channels_mattermost.resume")
async def test_what_was_asked_for_says_nothing_of_what_comes_by_itself(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    mattermost.store.add_channel(OTHER, "O", "other", TEAM)
    await mattermost.say("before")
    assert (await inbox.message()).text == "before"
    mattermost.events.forgets = True
    later = mattermost.store.add_post(OTHER, ANN, "asked for long after the others")
    later["create_at"] += 3_600_000
    mattermost.store.channels[OTHER]["last_post_at"] = later["create_at"]
    await mattermost.events.drop()
    texts = [(await inbox.message()).text for _ in range(2)]
    assert texts == ["before", later["message"]]
    await inbox.until_health(Health.READY)
    mattermost.events.skips = 1
    for text in ("never sent", "after it"):
        await mattermost.say(text)
    while "after it" not in texts:
        texts.append((await inbox.message()).text)
    assert "never sent" in texts


@pytest.mark.requirement("channels_mattermost.failures")
@pytest.mark.parametrize("away", [web.HTTPNotFound(), web.HTTPFound("/maintenance")])
async def test_a_proxy_that_answers_for_a_server_that_is_restarted_ends_nothing(
    mattermost: MattermostServer, inbox: Inbox, away: web.HTTPException
) -> None:
    await mattermost.say("before")
    assert (await inbox.message()).text == "before"
    mattermost.away = away
    before = len(mattermost.calls)
    await mattermost.events.drop()
    async with asyncio.timeout(PATIENCE_S):
        while len(mattermost.calls) < before + 2:
            await asyncio.sleep(0.01)
    mattermost.away = None
    await mattermost.say("after")
    assert (await inbox.message()).text == "after"
    assert not inbox.failure.done()


@pytest.mark.requirement("channels_mattermost.read")
async def test_rubbish_and_other_events_change_nothing(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    for rubbish in ("{", "[]", "7", '{"event": 7}', '{"seq_reply": "x"}', '{"event": "hello"}'):
        await mattermost.events.send_raw(rubbish)
    await mattermost.events.send("post_edited", {"post": "{}"})
    await mattermost.events.send("posted", {"post": "{"})
    await mattermost.say("joined", kind="system_join_channel")
    await mattermost.say("hello")
    assert (await inbox.message()).text == "hello"


@pytest.mark.requirement("channels_mattermost.failures")
@pytest.mark.parametrize("fault", [Fault.ACCEPTED_THEN_CUT, Fault.ACCEPTED_THEN_500])
async def test_a_post_whose_answer_was_lost_is_found(
    mattermost: MattermostServer, driver: MattermostDriver, inbox: Inbox, fault: Fault
) -> None:
    await mattermost.say("hello")
    thread = (await inbox.message()).thread
    mattermost.faults.append(fault)
    with pytest.raises(Exception, match="Mattermost"):
        await driver.post(Post(thread=thread, key="1.0", text="just once"))
    assert await driver.find_post(thread, "1.0") is not None
    await driver.post(Post(thread=thread, key="1.0", text="just once"))
    assert len(mattermost.ours(CHANNEL, thread.thread_id)) == 1
