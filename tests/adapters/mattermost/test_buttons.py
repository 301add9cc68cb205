"""Buttons of Mattermost: which presses count, and who may reach the listener."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

import aiohttp
import pytest

from netclaw.adapters.driver import (
    Button,
    Clicked,
    Health,
    Place,
    Post,
    Thread,
    TransientFailure,
)
from netclaw.adapters.mattermost.buttons import (
    GOOD_FOR_S,
    Press,
    Tokens,
    Verdict,
    attachments,
    handed_on,
    read_press,
    seal_of,
)
from netclaw.adapters.mattermost.callback import BODY_LIMIT, Callback
from netclaw.adapters.mattermost.client import Client
from netclaw.adapters.mattermost.driver import MattermostDriver
from netclaw.adapters.mattermost.places import Places
from netclaw.adapters.mattermost.settings import ACTION_PATH, Settings
from tests.adapters.mattermost.rig import buttons_at, free_port, make_driver
from tests.adapters.rig import PATIENCE_S, Inbox, open_driver, open_inbox
from tests.fakes.mattermost import MattermostServer
from tests.fakes.mattermost_store import ANN, BEN

SECRET = "a bot token"
SHORT_S = 0.2
THREAD = Thread(channel_id="c", thread_id="r", place=Place.CHANNEL, boundary="mattermost:t/c")
ONCE = Button(token="tok-once", label="Once")
DENY = Button(token="tok-deny", label="Deny", is_danger=True)


class Clock:
    """Seconds that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def press_of(token: str = ONCE.token, post_id: str = "p") -> Press:
    """A press as the server tells of it."""
    seal = seal_of(SECRET, THREAD, token)
    return Press(user_id="u", channel_id="c", post_id=post_id, root="r", token=token, seal=seal)


def shown(clock: Clock, most: int = 10) -> Tokens:
    """Two buttons in a post."""
    tokens = Tokens(SECRET, monotonic=clock, most=most)
    tokens.offer(THREAD, (ONCE, DENY))
    tokens.bind("p", (ONCE, DENY))
    return tokens


@pytest.mark.requirement("channels_mattermost.buttons")
def test_a_press_is_of_its_post_and_lives_for_hours() -> None:
    clock = Clock()
    tokens = shown(clock)
    assert tokens.judge(press_of()) is Verdict.LIVE
    assert tokens.judge(press_of()) is Verdict.LIVE, "looking uses nothing up"
    clock.now = GOOD_FOR_S
    assert tokens.judge(press_of()) is Verdict.STALE
    assert tokens.judge(press_of("tok-of-an-earlier-start")) is Verdict.STALE
    assert handed_on(press_of(), Verdict.STALE) != ONCE.token


@pytest.mark.requirement("channels_mattermost.forged")
@pytest.mark.parametrize(
    "forged",
    [
        press_of(post_id="another"),
        replace(press_of(), seal="0" * 64),
        replace(press_of(), root="another"),
        replace(press_of(), channel_id="another"),
        replace(press_of(), token=DENY.token),
        replace(press_of(), seal="ünicode"),
    ],
)
def test_a_forged_press_is_refused_and_spoils_nothing(forged: Press) -> None:
    tokens = shown(Clock())
    assert tokens.judge(forged) is Verdict.FORGED
    assert tokens.judge(press_of()) is Verdict.LIVE


@pytest.mark.requirement("channels_mattermost.buttons")
def test_the_oldest_tokens_go_first_and_a_changed_post_has_none() -> None:
    tokens = shown(Clock(), most=2)
    tokens.offer(THREAD, (Button(token="third", label="x"),))
    assert tokens.judge(press_of()) is Verdict.STALE
    assert tokens.judge(press_of(DENY.token)) is Verdict.LIVE
    tokens.bind("p", ())
    assert tokens.judge(press_of(DENY.token)) is Verdict.STALE


@pytest.mark.requirement("channels_mattermost.forged")
@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"user_id": "u", "channel_id": "c", "post_id": "p"},
        {"user_id": "u", "channel_id": "c", "post_id": "p", "context": {"token": "t"}},
        {"user_id": 7, "channel_id": "c", "post_id": "p", "context": {}},
        {"user_id": "u" * 65, "channel_id": "c", "post_id": "p", "context": {}},
    ],
)
def test_what_is_no_press_is_none(body: object) -> None:
    assert read_press(body) is None


@pytest.mark.requirement("channels_mattermost.buttons")
def test_there_are_no_buttons_without_an_address() -> None:
    assert attachments((ONCE,), THREAD, "", SECRET) == []
    assert attachments((), THREAD, "http://n/x", SECRET) == []


@pytest.fixture
async def port() -> int:
    """Where the listener is."""
    return free_port()


@pytest.fixture
async def pressed(mattermost: MattermostServer, port: int) -> AsyncIterator[MattermostDriver]:
    """A driver with buttons."""
    async with open_driver(make_driver(mattermost, options=buttons_at(port))) as driver:
        assert isinstance(driver, MattermostDriver)
        yield driver


async def ask(
    driver: MattermostDriver, inbox: Inbox, server: MattermostServer
) -> tuple[Thread, str]:
    """A prompt with two buttons in a thread that somebody began."""
    await server.say("@netclaw do it")
    thread = (await inbox.message()).thread
    post = Post(thread=thread, key="p.1", text="May I?", buttons=(ONCE, DENY))
    return thread, await driver.post(post)


async def click_among_posts(inbox: Inbox) -> Clicked:
    """The next press, whatever was said before it."""
    while True:
        event = (await inbox.next()).event
        if isinstance(event, Clicked):
            return event


@pytest.mark.requirement("channels_mattermost.forged")
async def test_the_listener_refuses_rubbish_and_the_button_still_works(
    mattermost: MattermostServer, pressed: MattermostDriver, port: int
) -> None:
    url = f"http://127.0.0.1:{port}{ACTION_PATH}"
    async with open_inbox(pressed) as inbox:
        thread, post_id = await ask(pressed, inbox, mattermost)
        (part,) = mattermost.store.posts[post_id]["props"]["attachments"]
        body = mattermost.press_body(post_id, part["actions"][0], user=BEN)
        forged = body | {"context": body["context"] | {"token": DENY.token}}
        elsewhere = body | {"post_id": thread.thread_id}
        bodies: tuple[object, ...] = (
            b"",
            b"\xff\xfe",
            b"[[",
            b"[" * (BODY_LIMIT - 1),
            [],
            {"context": None},
            {"user_id": "u"},
        )
        for rubbish in bodies:
            assert (await mattermost.call_back(url, rubbish))[0] == 400
        for refused in (forged, elsewhere):
            assert (await mattermost.call_back(url, refused))[0] == 403
        status, _ = await mattermost.press(post_id, ONCE.token, user=BEN)
        assert status == 200
        clicked = await inbox.click()
    assert clicked == Clicked(token=ONCE.token, sender_id=BEN, post_id=post_id, thread=thread)
    assert not any(
        "integration" in str(call.content) for call in mattermost.calls if not call.content
    )


@pytest.mark.requirement("channels_mattermost.forged")
async def test_a_body_that_is_too_large_is_not_read(pressed: MattermostDriver, port: int) -> None:
    async with open_inbox(pressed), aiohttp.ClientSession() as client:
        url = f"http://127.0.0.1:{port}{ACTION_PATH}"
        async with client.post(url, data=b" " * (BODY_LIMIT + 1)) as answer:
            assert (answer.status, await answer.json()) == (413, {"error": "too_large"})
        async with client.get(url) as answer:
            assert answer.status == 405


@pytest.mark.requirement("channels_mattermost.forged")
@pytest.mark.parametrize(
    "begun",
    [
        "",
        f"POST {ACTION_PATH} HTTP/1.1\r\nHost: n\r\n",
        f"POST {ACTION_PATH} HTTP/1.1\r\nHost: n\r\nContent-Length: 9\r\n\r\n{{",
    ],
)
async def test_a_call_that_does_not_come_keeps_no_connection(port: int, begun: str) -> None:
    settings = Settings(
        server_url="http://127.0.0.1:1",
        token=SECRET,
        action_url=f"http://127.0.0.1:{port}{ACTION_PATH}",
        listen_host="127.0.0.1",
        listen_port=port,
    )
    client = Client(settings)
    callback = Callback(
        settings, Tokens(SECRET), Places(client), lambda _: True, patience_s=SHORT_S
    )
    await callback.open()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(begun.encode())
        async with asyncio.timeout(PATIENCE_S):
            answer = await reader.read()
        writer.close()
    finally:
        await callback.close()
    assert answer.startswith(b"HTTP/1.1 408" if begun.endswith("{") else b"")


@pytest.mark.requirement("channels_mattermost.buttons")
async def test_a_press_that_was_taken_is_not_lost_with_the_connection(
    mattermost: MattermostServer, pressed: MattermostDriver
) -> None:
    async with open_inbox(pressed) as inbox:
        thread, post_id = await ask(pressed, inbox, mattermost)
    events = pressed.events()
    assert isinstance(events, AsyncGenerator)
    reading = asyncio.ensure_future(anext(events))
    async with asyncio.timeout(PATIENCE_S):
        while pressed.health() is not Health.READY:
            await asyncio.sleep(0.01)
        await mattermost.say("hello")
        await reading
    assert await mattermost.press(post_id, ONCE.token) == (200, {})
    await events.aclose()
    async with open_inbox(pressed) as inbox:
        clicked = await click_among_posts(inbox)
    assert clicked == Clicked(token=ONCE.token, sender_id=ANN, post_id=post_id, thread=thread)


@pytest.mark.requirement("channels_mattermost.buttons")
async def test_a_press_of_an_earlier_start_is_handed_on_as_old(
    mattermost: MattermostServer, pressed: MattermostDriver, port: int
) -> None:
    async with open_inbox(pressed) as inbox:
        _, post_id = await ask(pressed, inbox, mattermost)
    await pressed.close()
    async with open_driver(make_driver(mattermost, options=buttons_at(port))) as anew:
        assert anew.health() is Health.DISCONNECTED
        async with open_inbox(anew) as inbox:
            await mattermost.press(post_id, ONCE.token)
            clicked = await inbox.click()
    assert clicked.post_id == post_id
    assert clicked.token.startswith(ONCE.token)
    assert clicked.token != ONCE.token


@pytest.mark.requirement("channels_mattermost.buttons")
async def test_an_address_that_is_taken_may_become_free(
    mattermost: MattermostServer, pressed: MattermostDriver, port: int
) -> None:
    async with (
        open_inbox(pressed),
        open_driver(make_driver(mattermost, options=buttons_at(port))) as second,
    ):
        with pytest.raises(TransientFailure, match=r"Mattermost\.CallbackListen"):
            await anext(second.events())


@pytest.mark.requirement("channels_mattermost.buttons")
async def test_without_a_callback_there_are_no_buttons(driver: MattermostDriver) -> None:
    assert not driver.abilities.has_buttons
