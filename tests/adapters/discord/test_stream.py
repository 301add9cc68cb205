"""Events: presses at once, connections that go on, and what Discord closes with."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest

from netclaw.adapters.discord.driver import DiscordDriver
from netclaw.adapters.discord.stream import RESUMES
from netclaw.adapters.driver import (
    Button,
    Clicked,
    FatalFailure,
    Health,
    Incoming,
    Post,
    Received,
    TransientFailure,
)
from tests.adapters.discord.rig import DiscordRig, make_driver
from tests.adapters.rig import PATIENCE_S, Inbox, open_driver, open_inbox, thread_of
from tests.fakes.discord import DiscordServer
from tests.fakes.discord_gateway import HEARTBEAT, RECONNECT
from tests.fakes.discord_store import CHANNEL, GUILD, LOBBY


def text_of(incoming: Incoming) -> str:
    """What a message says."""
    assert isinstance(incoming.event, Received)
    return incoming.event.text


@pytest.mark.requirement("channels_discord.press")
async def test_a_press_is_acknowledged_while_the_host_is_busy(
    server: DiscordServer, driver: DiscordDriver
) -> None:
    events = driver.events()
    waiting = asyncio.ensure_future(anext(events))
    await server.gateway.until(lambda: len(server.gateway.events) >= 2)
    await server.say("hello")
    first = await waiting
    assert isinstance(first.event, Received)
    post = Post(
        thread=first.event.thread,
        key="p.1",
        text="May I?",
        buttons=(Button(token="tok", label="Once"),),
    )
    post_id = await driver.post(post)
    custom_id = str(server.store.messages[post_id].buttons[0]["custom_id"])
    # Nobody asks for events now.
    pressed = await server.press(post_id, custom_id)
    assert await server.until_deferred(pressed) < 3.0
    found = await anext(events)
    while not isinstance(found.event, Clicked):
        found = await anext(events)
    assert found.event.token == "tok"


@pytest.mark.requirement("channels_discord.press")
async def test_a_press_that_cannot_be_acknowledged_is_given_all_the_same(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    thread = await thread_of(DiscordRig(server), inbox)
    post = Post(thread=thread, key="p.1", text="?", buttons=(Button(token="tok", label="Once"),))
    post_id = await driver.post(post)
    custom_id = str(server.store.messages[post_id].buttons[0]["custom_id"])
    server.refuses_presses = True
    await server.press(post_id, custom_id)
    assert (await inbox.click()).token == "tok"


@pytest.mark.requirement("channels_discord.resume")
async def test_a_cut_connection_goes_on_where_it_was(server: DiscordServer, inbox: Inbox) -> None:
    await server.say("one")
    assert (await inbox.message()).text == "one"
    await server.gateway.drop()
    await server.say("two")
    await server.gateway.until(lambda: server.gateway.resumes == 1)
    await server.say("three")
    assert [(await inbox.message()).text for _ in range(2)] == ["two", "three"]
    assert server.gateway.identifies == 1


@pytest.mark.requirement("channels_discord.resume")
async def test_discords_wish_to_reconnect_is_followed(server: DiscordServer, inbox: Inbox) -> None:
    await server.gateway.send({"op": RECONNECT})
    await server.gateway.until(lambda: server.gateway.resumes == 1)
    await server.say("still here")
    assert (await inbox.message()).text == "still here"


@pytest.mark.requirement("channels_discord.resume")
async def test_what_cannot_go_on_is_begun_anew_after_a_pause(
    server: DiscordServer, driver: DiscordDriver
) -> None:
    waiting = asyncio.ensure_future(anext(driver.events()))
    await server.gateway.until(lambda: server.gateway.identifies == 1)
    server.gateway.forget_session()
    await server.gateway.drop()
    with pytest.raises(TransientFailure) as failed:
        await waiting
    assert failed.value.retry_after_s is not None
    assert 1.0 <= failed.value.retry_after_s <= 5.0
    assert driver.health() is Health.DISCONNECTED
    again = asyncio.ensure_future(anext(driver.events()))
    await server.gateway.until(lambda: server.gateway.identifies == 2)
    await server.say("anew")
    assert text_of(await again) == "anew"


@pytest.mark.requirement("channels_discord.resume")
async def test_a_later_call_goes_on_too(server: DiscordServer, driver: DiscordDriver) -> None:
    async with open_inbox(driver):
        pass
    await server.say("between")
    async with open_inbox(driver) as inbox:
        assert (await inbox.message()).text == "between"
    assert (server.gateway.identifies, server.gateway.resumes) == (1, 1)


@pytest.mark.requirement("channels_discord.resume")
async def test_a_half_open_connection_is_noticed(server: DiscordServer) -> None:
    server.gateway.heartbeat_ms = 100
    async with open_driver(make_driver(server, silence_s=0.8)) as driver, open_inbox(driver) as box:
        await server.gateway.until(
            lambda: any(frame["op"] == HEARTBEAT for frame in server.gateway.frames[2:])
        )
        server.gateway.freeze()
        await server.say("into the void")
        assert (await box.message()).text == "into the void"
        assert server.gateway.resumes >= 1


@pytest.mark.requirement("channels_discord.resume")
async def test_endless_losses_are_the_hosts_to_wait_out(
    server: DiscordServer, driver: DiscordDriver
) -> None:
    waiting = asyncio.ensure_future(anext(driver.events()))
    for number in range(RESUMES + 1):
        await server.gateway.until(lambda: server.gateway.connects == number + 1)  # noqa: B023
        await server.gateway.until(lambda: server.gateway.resumes == number)  # noqa: B023
        await server.gateway.until(lambda: server.gateway.identifies == 1)
        await server.gateway.end(4000)
    with pytest.raises(TransientFailure, match="too often"):
        await asyncio.wait_for(waiting, PATIENCE_S)


async def test_a_frame_that_makes_no_sense_costs_the_connection_alone(
    server: DiscordServer, inbox: Inbox
) -> None:
    for number, frame in enumerate(("{", "[1]", '{"op": 0, "t": "READY", "s": 9}')):
        await server.gateway.send_raw(frame)
        await server.gateway.until(
            lambda: server.gateway.resumes + server.gateway.identifies == number + 2  # noqa: B023
        )
    await inbox.until_health(Health.READY)
    await server.say("still here")
    assert (await inbox.message()).text == "still here"


@pytest.mark.requirement("channels_discord.content")
async def test_the_content_intent_is_asked_for_by_name(server: DiscordServer) -> None:
    server.gateway.may_read_content = False
    async with open_driver(make_driver(server)) as driver:
        with pytest.raises(FatalFailure, match="Message Content intent"):
            await anext(driver.events())
        server.rest.application_flags = 0
        with pytest.raises(FatalFailure, match="Message Content intent"):
            await driver.check()


@pytest.mark.requirement("channels_discord.failures")
@pytest.mark.parametrize("code", [4004, 4010, 4013, 4014])
async def test_what_discord_closes_with_for_good_is_fatal(
    server: DiscordServer, inbox: Inbox, code: int
) -> None:
    await server.gateway.end(code)
    await asyncio.wait_for(inbox.failure, PATIENCE_S)


@pytest.mark.requirement("channels_discord.resume")
@pytest.mark.parametrize("code", [1000, 1001, 4007, 4009])
@pytest.mark.usefixtures("inbox")
async def test_other_ends_are_gone_on_from(server: DiscordServer, code: int) -> None:
    await server.gateway.end(code)
    await server.gateway.until(lambda: server.gateway.resumes == 1)


async def test_a_gateway_that_is_never_ready_is_given_up(
    server: DiscordServer, driver: DiscordDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netclaw.adapters.discord.gateway.READY_S", 0.3)
    server.gateway.holds_ready = True
    with pytest.raises(TransientFailure, match="not ready"):
        await anext(driver.events())
    await server.gateway.until(lambda: not server.gateway.open_connections)


async def test_giving_up_while_connecting_leaves_nothing(
    server: DiscordServer, driver: DiscordDriver
) -> None:
    server.gateway.holds_ready = True
    waiting = asyncio.ensure_future(anext(driver.events()))
    await server.gateway.until(lambda: server.gateway.connects == 1)
    assert driver.health() is Health.CONNECTING
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting
    await server.gateway.until(lambda: not server.gateway.open_connections)
    assert driver.health() is Health.DISCONNECTED


@pytest.mark.requirement("channels_discord.threads")
async def test_a_thread_that_is_not_known_is_asked_for(server: DiscordServer, inbox: Inbox) -> None:
    root = await server.say("root")
    await inbox.message()
    server.store.open_thread(CHANNEL, root.id, "nobody told us")
    await server.say("below", thread=root.id)
    below = await inbox.message()
    assert below.thread.address == f"{CHANNEL}/{root.id}"
    assert len(server.made(f"GET /channels/{root.id}")) == 1
    server.store.open_thread(CHANNEL, (other := await server.say("2")).id, "down for a moment")
    await inbox.message()
    server.errors[f"GET /channels/{other.id}"] = (503, 0)
    await server.say("kept", thread=other.id)
    await server.gateway.until(lambda: len(server.gateway.events) >= 6)
    server.errors.clear()
    assert (await inbox.message()).text == "kept"


async def test_events_out_of_order_and_unknown_ones_disturb_nothing(
    server: DiscordServer, inbox: Inbox
) -> None:
    one = await server.say("one", channel=LOBBY)
    await server.gateway.repeat()
    await server.gateway.tell("MESSAGE_UPDATE", {"id": one.id, "channel_id": LOBBY})
    await server.gateway.tell("MESSAGE_DELETE", {"id": one.id, "channel_id": LOBBY})
    await server.gateway.tell("MESSAGE_CREATE", {"guild_id": GUILD})
    await server.gateway.tell("TYPING_START", {"channel_id": LOBBY})
    await server.say("two", channel=LOBBY)
    found = [await inbox.message() for _ in range(3)]
    assert [item.text for item in found] == ["one", "one", "two"]
    assert found[0] == found[1]


@pytest.mark.requirement("channels_discord.apart")
async def test_the_library_keeps_nothing_and_is_silent(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    await server.say("hello")
    await inbox.next()
    library = await driver._client.library()
    assert (list(library.guilds), list(library.users)) == ([], [])
    assert list(library.cached_messages) == []
    assert not logging.getLogger("discord").isEnabledFor(logging.ERROR)
    assert logging.getLogger("netclaw.adapters.discord").level == logging.NOTSET


async def test_many_messages_at_once_keep_their_order(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    thread = await thread_of(DiscordRig(server), inbox)
    for number in range(50):
        await server.say(str(number))
    assert [(await inbox.message()).text for _ in range(50)] == [str(n) for n in range(50)]
    await asyncio.gather(
        *(driver.post(Post(thread=thread, key=f"{n}.0", text=str(n))) for n in range(20))
    )
    assert len(server.ours(CHANNEL, thread.thread_id)) == 20
