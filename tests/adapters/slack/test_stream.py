"""Events: acknowledgements, renewals, losses, and what a loaded Slack does."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest

from netclaw.adapters.driver import (
    FatalFailure,
    Health,
    Incoming,
    Post,
    Received,
    TransientFailure,
)
from netclaw.adapters.slack.client import sdk_log
from netclaw.adapters.slack.driver import SlackDriver
from netclaw.adapters.slack.stream import RENEWALS
from tests.adapters.rig import PATIENCE_S, Inbox, thread_of
from tests.adapters.slack.rig import SlackRig
from tests.fakes.slack import SlackServer
from tests.fakes.slack_store import BOT_USER, CHANNEL

MENTION = f"<@{BOT_USER}>"


def text_of(incoming: Incoming) -> str:
    """What a message says."""
    assert isinstance(incoming.event, Received)
    return incoming.event.text


@pytest.mark.requirement("channels_slack.acknowledge")
async def test_the_library_is_silent_and_we_are_not(slack: SlackServer, inbox: Inbox) -> None:
    await slack.say("hello")
    await inbox.next()
    levels = [logging.getLogger(name).level for name in ("netclaw", "netclaw.adapters.slack")]
    assert levels == [logging.NOTSET, logging.NOTSET]
    assert not sdk_log.isEnabledFor(logging.ERROR)


@pytest.mark.requirement("channels_slack.acknowledge")
async def test_an_envelope_is_acknowledged_when_we_say_so(slack: SlackServer, inbox: Inbox) -> None:
    await slack.say("first")
    await slack.say("second")
    first, second = await inbox.next(), await inbox.next()
    assert slack.events.acknowledged == []
    assert slack.events.waiting == 2
    await second.acknowledge()
    await first.acknowledge()
    await slack.events.until_acknowledged()
    sent = [envelope["envelope_id"] for envelope in slack.events.delivered]
    assert [answer["envelope_id"] for answer in slack.events.acknowledged] == sent[::-1]


@pytest.mark.requirement("channels_slack.acknowledge")
async def test_what_is_acknowledged_too_late_comes_again_under_its_id(
    slack: SlackServer, inbox: Inbox
) -> None:
    slack.events.patience_s = 0.1
    await slack.say("slow")
    first, again = await inbox.next(), await inbox.next()
    assert first.event == again.event
    await first.acknowledge()
    await again.acknowledge()
    await slack.events.until_acknowledged()


@pytest.mark.requirement("channels_slack.acknowledge")
async def test_what_was_not_acknowledged_comes_again_after_a_loss(
    slack: SlackServer, inbox: Inbox
) -> None:
    await slack.say("kept")
    first = await inbox.next()
    await slack.events.drop()
    again = await inbox.next()
    assert again.event == first.event
    with pytest.raises(TransientFailure):
        await first.acknowledge()
    await again.acknowledge()
    await slack.events.until_acknowledged()


@pytest.mark.requirement("channels_slack.not-messages")
async def test_what_is_no_message_is_acknowledged_and_not_given(
    slack: SlackServer, inbox: Inbox
) -> None:
    edit: dict[str, object] = {"type": "message", "subtype": "message_changed", "hidden": True}
    await slack.tell(edit | {"channel": CHANNEL, "ts": "1.1"})
    await slack.tell({"type": "member_joined_channel", "user": "U1", "channel": CHANNEL})
    await slack.events.send("slash_commands", {"command": "/x"})
    await slack.events.send("interactive", {"type": "view_submission"})
    await slack.events.until_acknowledged()
    await slack.say("a message")
    assert (await inbox.message()).text == "a message"


async def test_frames_that_make_no_sense_disturb_nothing(slack: SlackServer, inbox: Inbox) -> None:
    for frame in ("", "{", "[1]", '"x"', '{"type": "events_api"}', '{"type": 5, "payload": 1}'):
        await slack.events.send_raw(frame)
    await slack.say("still here")
    assert (await inbox.message()).text == "still here"
    assert slack.events.connects == 1


@pytest.mark.requirement("channels_slack.mention-once")
async def test_a_mention_is_told_twice_under_one_id(slack: SlackServer, inbox: Inbox) -> None:
    await slack.say(f"{MENTION} go", as_mention=True)
    first, second = await inbox.message(), await inbox.message()
    assert first == second


async def test_events_out_of_order_keep_their_own_times(slack: SlackServer, inbox: Inbox) -> None:
    root = await slack.say("root")
    one = root.as_json() | {"channel": CHANNEL, "thread_ts": root.ts, "text": "one"}
    await slack.tell(one | {"ts": "1700000200.000002"})
    await slack.tell(one | {"ts": "1700000100.000001"})
    received = [await inbox.message() for _ in range(3)]
    assert len({item.event_id for item in received}) == 3
    assert {item.thread.thread_id for item in received} == {root.ts}
    assert received[2].at_ms < received[1].at_ms


@pytest.mark.requirement("channels_slack.renew")
async def test_a_renewal_loses_nothing_and_repeats_nothing(
    slack: SlackServer, driver: SlackDriver, inbox: Inbox
) -> None:
    await slack.say("before")
    before = await inbox.next()
    await slack.events.ask_to_renew()
    await slack.events.until_connects(2)
    assert driver.health() is Health.READY
    # What came over the old connection is acknowledged over it.
    await before.acknowledge()
    await slack.say("after")
    after = await inbox.next()
    assert text_of(after) == "after"
    await after.acknowledge()
    await slack.events.until_acknowledged()
    assert len(slack.events.delivered) == len(slack.events.acknowledged) == 2
    assert not inbox.failure.done()


@pytest.mark.requirement("channels_slack.renew")
async def test_the_old_connection_goes_when_slack_closes_it_or_we_end(
    slack: SlackServer, driver: SlackDriver, inbox: Inbox
) -> None:
    await slack.events.ask_to_renew("warning")
    await slack.events.until_connects(2)
    await slack.events.ask_to_renew("warning")
    await slack.events.until_connects(3)
    await inbox.close()
    await driver.close()
    async with asyncio.timeout(PATIENCE_S):
        while slack.events.open_connections:
            await asyncio.sleep(0.01)


@pytest.mark.requirement("channels_slack.renew")
async def test_endless_renewals_are_a_loss(slack: SlackServer, driver: SlackDriver) -> None:
    events = driver.events()
    waiting = asyncio.ensure_future(anext(events))
    for number in range(RENEWALS):
        await slack.events.until_connects(number + 1)
        await slack.events.ask_to_renew("too_many_websockets")
    await slack.events.until_connects(RENEWALS + 1)
    await slack.events.ask_to_renew("too_many_websockets")
    with pytest.raises(TransientFailure, match="too often"):
        await asyncio.wait_for(waiting, PATIENCE_S)
    assert driver.health() is Health.DISCONNECTED


@pytest.mark.requirement("channels_slack.failures")
async def test_socket_mode_that_is_switched_off_is_fatal(slack: SlackServer, inbox: Inbox) -> None:
    await slack.events.ask_to_renew("link_disabled")
    failure = await asyncio.wait_for(inbox.failure, PATIENCE_S)
    assert "Socket Mode" in failure.sentence


@pytest.mark.requirement("channels_slack.half-open")
async def test_a_half_open_connection_is_noticed(slack: SlackServer, inbox: Inbox) -> None:
    slack.events.freeze()
    await slack.say("into the void")
    await slack.events.until_connects(2)
    assert (await inbox.message()).text == "into the void"


async def test_a_loss_is_told_and_the_next_call_connects(
    slack: SlackServer, driver: SlackDriver
) -> None:
    events = driver.events()
    await slack.say("one")
    await (await anext(events)).acknowledge()
    await slack.events.until_acknowledged()
    await slack.events.drop()
    with pytest.raises(TransientFailure):
        await anext(events)
    assert driver.health() is Health.DISCONNECTED
    again = driver.events()
    await slack.say("two")
    assert text_of(await anext(again)) == "two"


async def test_giving_up_while_connecting_leaves_nothing(
    slack: SlackServer, driver: SlackDriver
) -> None:
    waiting = asyncio.ensure_future(anext(driver.events()))
    await slack.events.until_connects(1)
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(PATIENCE_S):
        while slack.events.open_connections:
            await asyncio.sleep(0.01)
    assert driver.health() is Health.DISCONNECTED


async def test_a_bot_token_that_is_revoked_alone_is_noticed_at_the_next_connect(
    slack: SlackServer, inbox: Inbox
) -> None:
    slack.errors["auth.test"] = {"error": "token_revoked"}
    await slack.events.drop()
    assert isinstance(await asyncio.wait_for(inbox.failure, PATIENCE_S), FatalFailure)


async def test_many_threads_at_once_keep_their_order(
    slack: SlackServer, driver: SlackDriver, inbox: Inbox
) -> None:
    rig = SlackRig(slack)
    thread = await thread_of(rig, inbox)
    for number in range(50):
        await slack.say(f"{number % 5} {number}")
    received = [await inbox.message() for _ in range(50)]
    assert [int(item.text.split()[1]) for item in received] == list(range(50))
    await asyncio.gather(
        *(driver.post(Post(thread=thread, key=f"{n}.0", text=str(n))) for n in range(20))
    )
    assert len(rig.shown(thread)) == 20
