"""Answers and events that make no sense are a failure of the driver's kinds, or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web

from netclaw.adapters.driver import RefusedFailure, TransientFailure
from netclaw.adapters.mattermost.client import Client
from netclaw.adapters.mattermost.failures import GoneFailure
from netclaw.adapters.mattermost.payloads import read_posted
from netclaw.adapters.mattermost.settings import Settings
from tests.adapters.mattermost.rig import free_port
from tests.adapters.rig import Inbox
from tests.fakes.mattermost import MattermostServer

TOO_DEEP = "[" * 60_000


@asynccontextmanager
async def serving(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> AsyncIterator[Client]:
    """A client of a server that has this one answer."""
    app = web.Application()
    app.router.add_get("/api/v4/users/me", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    client = Client(Settings(server_url=f"http://127.0.0.1:{port}", token="t"))
    try:
        yield client
    finally:
        await client.close()
        await runner.cleanup()


@pytest.mark.requirement("channels_mattermost.failures")
@pytest.mark.parametrize("body", ["", "{", "[]", "7", "\x00", TOO_DEEP])
async def test_an_answer_without_sense_may_pass(body: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        del request
        return web.Response(text=body, content_type="application/json")

    async with serving(answer) as client:
        with pytest.raises(TransientFailure, match="makes no sense"):
            await client.ask("GET", "/users/me")


@pytest.mark.requirement("channels_mattermost.failures")
async def test_a_refusal_that_comes_in_pieces_is_read_to_its_end() -> None:
    gate = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        pieces = web.StreamResponse(status=404)
        await pieces.prepare(request)
        await pieces.write(b'{"id": "app.post.')
        await gate.wait()
        await pieces.write(b'get.app_error"}')
        return pieces

    async with serving(answer) as client:
        asked = asyncio.create_task(client.ask("GET", "/users/me"))
        done, _ = await asyncio.wait((asked,), timeout=0.2)
        gate.set()
        # Half an answer would be that of another server, which ends the channel for good.
        with pytest.raises(GoneFailure, match=r"app\.post\.get\.app_error"):
            await asked
    assert not done


@pytest.mark.requirement("channels_mattermost.failures")
async def test_an_answer_without_end_is_not_read() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        endless = web.StreamResponse()
        await endless.prepare(request)
        with suppress(ConnectionError):
            while True:
                await endless.write(b" " * 1024 * 1024)
        return endless

    async with serving(answer) as client:
        with pytest.raises(RefusedFailure, match="longer than netclaw reads"):
            await client.ask("GET", "/users/me")


@pytest.mark.requirement("channels_mattermost.read")
def test_a_post_that_is_nested_too_deep_is_nothing() -> None:
    assert read_posted({"post": TOO_DEEP}) == ({}, None)


@pytest.mark.requirement("channels_mattermost.resume")
async def test_a_frame_that_is_nested_too_deep_ends_no_connection(
    mattermost: MattermostServer, inbox: Inbox
) -> None:
    await mattermost.events.send_raw(TOO_DEEP)
    await mattermost.say("hello")
    assert (await inbox.message()).text == "hello"
    assert len(mattermost.events.opened) == 1
