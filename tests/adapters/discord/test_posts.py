"""Posts: made once, in the right place, with what is below them."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.adapters.discord.driver import DiscordDriver
from netclaw.adapters.driver import Button, Post, RefusedFailure, Thread, TransientFailure
from tests.adapters.discord.rig import DiscordRig, make_driver
from tests.adapters.rig import Inbox, thread_of
from tests.fakes.discord import DiscordServer, Fault
from tests.fakes.discord_store import ANN, BOT, CHANNEL, DIRECT, VOICE, Message

BUTTONS = (Button(token="tok-a", label="Once"), Button(token="tok-b", label="Deny"))
MAKES_THREAD = r"POST /channels/\d+/messages/\d+/threads"


@pytest.mark.requirement("channels_discord.threads")
async def test_the_thread_is_made_with_the_first_reply_and_named(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    root = await server.say(f"<@{BOT}> why is\nthe sky blue")
    thread = (await inbox.message()).thread
    await driver.set_status(thread, "is thinking...")
    assert server.store.typing == [CHANNEL]
    await asyncio.gather(
        *(driver.post(Post(thread=thread, key=f"{n}.0", text=str(n))) for n in range(3))
    )
    assert server.store.channels[root.id]["name"] == "why is the sky blue"
    await driver.set_status(thread, "is thinking...")
    assert server.store.typing[-1] == root.id
    await driver.set_title(thread, "Light in the air")
    await driver.set_title(thread, "Light in the air")
    assert server.store.channels[root.id]["name"] == "Light in the air"
    assert len(server.made("PATCH .*")) == 1
    assert [message.channel for message in server.ours(CHANNEL, root.id)] == [root.id] * 3


@pytest.mark.requirement("channels_discord.threads")
async def test_a_title_that_comes_before_the_thread_is_its_name(
    server: DiscordServer, driver: DiscordDriver
) -> None:
    root = await server.say("hello")
    thread = Thread.at(f"{CHANNEL}/{root.id}")
    await driver.set_title(thread, "Early")
    await driver.post(Post(thread=thread, key="1.0", text="x"))
    assert server.store.channels[root.id]["name"] == "Early"


@pytest.mark.requirement("channels_discord.threads")
async def test_a_title_that_comes_while_the_thread_is_made_is_its_name(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    root = await server.say("hello")
    thread = (await inbox.message()).thread
    post = driver.post(Post(thread=thread, key="1.0", text="x"))
    await asyncio.gather(post, driver.set_title(thread, "Meanwhile"))
    assert server.store.channels[root.id]["name"] == "Meanwhile"


@pytest.mark.requirement("channels_discord.threads")
async def test_a_message_that_comes_again_takes_no_title_from_its_thread(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    root = await server.say("hello")
    thread = (await inbox.message()).thread
    await driver.post(Post(thread=thread, key="1.0", text="x"))
    await server.put(root)
    while (await inbox.message()).is_own:
        continue
    await driver.set_title(thread, "Later")
    assert server.store.channels[root.id]["name"] == "Later"
    await driver.post(Post(thread=thread, key="2.0", text="y"))
    assert server.store.channels[root.id]["name"] == "Later"


@pytest.mark.requirement("channels_discord.threads")
async def test_a_thread_that_somebody_made_before_us_gets_the_title_that_waited(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    root = await server.say("hello")
    thread = (await inbox.message()).thread
    await driver.set_title(thread, "Early")
    server.store.open_thread(CHANNEL, root.id, "theirs")
    await driver.post(Post(thread=thread, key="1.0", text="x"))
    assert server.store.channels[root.id]["name"] == "Early"


@pytest.mark.requirement("channels_discord.threads")
async def test_a_thread_that_somebody_made_meanwhile_is_used(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    root = await server.say("hello")
    thread = (await inbox.message()).thread
    server.store.open_thread(CHANNEL, root.id, "theirs")
    await driver.post(Post(thread=thread, key="1.0", text="x"))
    assert server.store.channels[root.id]["name"] == "theirs"
    assert len(server.ours(CHANNEL, root.id)) == 1


@pytest.mark.requirement("channels_discord.threads")
async def test_an_answer_to_a_message_that_was_deleted_is_refused(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    root = await server.say("hello")
    thread = (await inbox.message()).thread
    del server.store.messages[root.id]
    with pytest.raises(RefusedFailure, match="gone"):
        await driver.post(Post(thread=thread, key="1.0", text="x"))


@pytest.mark.requirement("channels_discord.direct")
async def test_a_direct_conversation_has_no_thread_and_no_name(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    await server.say("psst", channel=DIRECT)
    thread = (await inbox.message()).thread
    await driver.set_status(thread, "is thinking...")
    await driver.set_title(thread, "Secrets")
    await driver.post(Post(thread=thread, key="1.0", text="yes?"))
    assert [message.channel for message in server.ours(DIRECT, DIRECT)] == [DIRECT]
    assert server.store.typing == [DIRECT]
    assert not server.made(MAKES_THREAD)
    history = await driver.backfill(thread, after="", limit=9)
    assert [(item.text, item.is_own) for item in history] == [("psst", False), ("yes?", True)]


@pytest.mark.requirement("channels_discord.once")
@pytest.mark.parametrize("echoes", [True, False])
async def test_a_post_whose_answer_was_lost_is_known_long_after(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox, echoes: bool
) -> None:
    thread = await thread_of(DiscordRig(server), inbox)
    await driver.post(Post(thread=thread, key="1.0", text="ok"))
    server.tells_us = echoes
    server.faults.append(Fault.ACCEPTED_THEN_CUT)
    with pytest.raises(TransientFailure):
        await driver.post(Post(thread=thread, key="2.0", text="ok"))
    server.rest.nonces.clear()
    if echoes:
        # The gateway tells of our posts in their order: behind this message it told of them.
        await server.say("next", thread=thread.thread_id)
        while (await inbox.message()).is_own:
            pass
    first, second = server.ours(CHANNEL, thread.thread_id)
    assert await driver.find_post(thread, "2.0") == second.id
    assert await driver.find_post(thread, "1.0") == first.id
    assert bool(server.made(r"GET .*/messages")) is not echoes


@pytest.mark.requirement("channels_discord.once")
async def test_the_same_words_of_another_post_are_not_taken_for_it(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    thread = await thread_of(DiscordRig(server), inbox)
    await driver.post(Post(thread=thread, key="1.0", text="ok"))
    server.faults.append(Fault.ACCEPTED_THEN_CUT)
    server.tells_us = False
    with pytest.raises(TransientFailure):
        await driver.post(Post(thread=thread, key="2.0", text="ok"))
    del server.store.messages[server.ours(CHANNEL, thread.thread_id)[-1].id]
    assert await driver.find_post(thread, "2.0") is None


@pytest.mark.requirement("channels_discord.once")
async def test_a_repetition_within_minutes_makes_no_second_post(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    thread = await thread_of(DiscordRig(server), inbox)
    post = Post(thread=thread, key="1.0", text="once", buttons=BUTTONS)
    made = await driver.post(post)
    again = make_driver(server)
    fresh = (Button(token="new-a", label="Once"), Button(token="new-b", label="Deny"))
    assert await again.post(Post(thread=thread, key="1.0", text="once", buttons=fresh)) == made
    await again.close()
    (shown,) = DiscordRig(server).shown(thread)
    assert shown.tokens == ("new-a", "new-b")


@pytest.mark.requirement("channels_discord.once")
async def test_a_prompt_is_found_by_another_process_long_after(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    thread = await thread_of(DiscordRig(server), inbox)
    post_id = await driver.post(Post(thread=thread, key="p.a.1", text="May I?", buttons=BUTTONS))
    for number in range(5):
        await server.say(str(number), thread=thread.thread_id)
    server.rest.page_size = 2
    again = make_driver(server)
    assert await again.find_post(thread, "p.a.1") == post_id
    await again.edit(thread, post_id, "May I?", BUTTONS)
    await again.close()
    third = make_driver(server)
    assert await third.find_post(thread, "p.a.1") == post_id
    await third.close()


@pytest.mark.requirement("channels_discord.letters")
@pytest.mark.parametrize(("size", "posts"), [(10, 1), (1_990, 2)])
async def test_where_buttons_are_not_taken_letters_are_asked_for(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox, size: int, posts: int
) -> None:
    thread = await thread_of(DiscordRig(server), inbox)
    server.faults.append(Fault.NO_BUTTONS)
    post = Post(thread=thread, key="p.a.1", text="x" * size, buttons=BUTTONS)
    post_id = await driver.post(post)
    made = server.ours(CHANNEL, thread.thread_id)
    assert (made[0].id, len(made)) == (post_id, posts)
    assert made[-1].content.endswith("Answer with one letter:\nA: Once\nB: Deny")


@pytest.mark.requirement("channels_discord.quiet")
async def test_nobody_makes_us_notify_everybody(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    thread = await thread_of(DiscordRig(server), inbox)
    post_id = await driver.post(Post(thread=thread, key="1.0", text="@everyone https://x.example"))
    await driver.edit(thread, post_id, "@here", ())
    for call in (*server.made(r"POST .*/messages"), *server.made(r"PATCH .*")):
        assert call.body["allowed_mentions"] == {"parse": ["users"]}
        assert call.body["flags"] == 4


async def test_a_beginning_is_one_post_however_often_it_is_tried(
    server: DiscordServer, driver: DiscordDriver
) -> None:
    server.faults.append(Fault.ACCEPTED_THEN_CUT)
    with pytest.raises(TransientFailure):
        await driver.begin_thread(CHANNEL, "a reminder", "9.0")
    thread = await driver.begin_thread(CHANNEL, "a reminder", "9.0")
    assert await driver.begin_thread(CHANNEL, "a reminder", "9.0") == thread
    (root,) = server.ours(CHANNEL, thread.thread_id)
    assert server.store.channels[root.id]["name"] == "a reminder"
    await driver.edit(thread, root.id, "changed", ())
    await driver.delete(thread, root.id)
    assert server.ours(CHANNEL, thread.thread_id) == []
    with pytest.raises(RefusedFailure):
        await driver.begin_thread("404", "nobody there", "9.1")


@pytest.mark.requirement("channels_discord.history")
async def test_history_is_read_over_pages_and_with_its_beginning(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox
) -> None:
    server.rest.page_size = 2
    root = await server.say("0")
    thread = (await inbox.message()).thread
    for number in range(1, 6):
        await server.say(str(number), thread=root.id)
    await server.put(Message(server.store.next_id(), root.id, ANN, "", kind=6))
    await driver.post(Post(thread=thread, key="1.0", text="6"))
    everything = await driver.backfill(thread, after="", limit=100)
    assert [item.text for item in everything] == ["0", "1", "2", "3", "4", "5", "6"]
    assert [item.is_own for item in everything] == [False] * 6 + [True]
    assert {item.thread for item in everything} == {thread}
    after = everything[2].event_id
    assert await driver.backfill(thread, after=after, limit=100) == everything[3:]
    assert await driver.backfill(thread, after=after, limit=1) == everything[3:4]
    assert await driver.backfill(thread, after="", limit=3) == everything[-3:]
    alone = await server.say("nobody answered")
    fresh = Thread.at(f"{CHANNEL}/{alone.id}")
    (found,) = await driver.backfill(fresh, after="", limit=9)
    assert found.event_id == f"{CHANNEL}/{alone.id}"


async def test_a_missing_permission_concerns_one_place(
    server: DiscordServer, driver: DiscordDriver
) -> None:
    server.errors[f"POST /channels/{VOICE}/messages"] = (403, 50013)
    with pytest.raises(RefusedFailure, match="lacks a permission"):
        await driver.post(Post(thread=Thread.at(VOICE), key="1.0", text="x"))
