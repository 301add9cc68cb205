"""Answers and events that make no sense are a failure of the driver's kinds, or nothing."""

from __future__ import annotations

import pytest
from aiohttp import web

from netclaw.adapters.driver import TransientFailure
from netclaw.adapters.mattermost.client import Client
from netclaw.adapters.mattermost.payloads import read_posted
from netclaw.adapters.mattermost.settings import Settings
from tests.adapters.mattermost.rig import free_port
from tests.adapters.rig import Inbox
from tests.fakes.mattermost import MattermostServer

TOO_DEEP = "[" * 60_000


@pytest.mark.requirement("channels_mattermost.failures")
@pytest.mark.parametrize("body", ["", "{", "[]", "7", "\x00", TOO_DEEP])
async def test_an_answer_without_sense_may_pass(body: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        del request
        return web.Response(text=body, content_type="application/json")

    app = web.Application()
    app.router.add_get("/api/v4/users/me", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    client = Client(Settings(server_url=f"http://127.0.0.1:{port}", token="t"))
    try:
        with pytest.raises(TransientFailure, match="makes no sense"):
            await client.ask("GET", "/users/me")
    finally:
        await client.close()
        await runner.cleanup()


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
