"""What Discord's refusals mean."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from netclaw.adapters.discord.driver import DiscordDriver
from netclaw.adapters.driver import (
    DriverFailure,
    FatalFailure,
    Post,
    RefusedFailure,
    Thread,
    TransientFailure,
)
from tests.adapters.discord.rig import make_driver
from tests.fakes.discord import TOKEN, DiscordServer, Fault
from tests.fakes.discord_store import CHANNEL

POST = Post(thread=Thread.at(CHANNEL), key="1.0", text="hello")
POSTING = f"POST /channels/{CHANNEL}/messages"


@pytest.mark.requirement("channels_discord.failures")
@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, 0, FatalFailure),
        (403, 50001, RefusedFailure),
        (404, 10003, RefusedFailure),
        (400, 50083, RefusedFailure),
        (400, 99999, RefusedFailure),
        (400, 0, RefusedFailure),
        (403, 0, TransientFailure),
        (503, 0, TransientFailure),
        (408, 0, TransientFailure),
        (404, 0, FatalFailure),
    ],
)
async def test_a_status_and_a_code_say_whether_to_try_again(
    server: DiscordServer,
    driver: DiscordDriver,
    status: int,
    code: int,
    kind: type[DriverFailure],
) -> None:
    server.errors[POSTING] = (status, code)
    server.errors[f"POST /channels/{CHANNEL}/messages/1/threads"] = (status, code)
    with pytest.raises(kind) as failed:
        await driver.post(POST)
    assert type(failed.value) is kind
    assert failed.value.sentence.endswith(".")
    assert TOKEN not in failed.value.sentence


@pytest.mark.requirement("channels_discord.failures")
async def test_a_long_rate_limit_is_told_and_not_slept_through(
    server: DiscordServer, driver: DiscordDriver
) -> None:
    server.retry_after_s = 600.0
    server.faults.append(Fault.RATE_LIMITED)
    with pytest.raises(TransientFailure) as failed:
        await driver.post(POST)
    assert failed.value.retry_after_s == 600.0
    await driver.post(POST)


@pytest.mark.requirement("channels_discord.failures")
async def test_a_wall_before_discord_is_waited_for(
    server: DiscordServer, driver: DiscordDriver
) -> None:
    await driver.check()
    server.answer = lambda: web.Response(status=429, text="<html>", headers={"Retry-After": "7"})
    with pytest.raises(TransientFailure) as failed:
        await driver.post(POST)
    assert failed.value.retry_after_s == 7.0


@pytest.mark.requirement("channels_discord.failures")
@pytest.mark.parametrize("body", ["<html>", "[]", "{}", "{"])
async def test_answers_that_are_not_discords_are_tried_again(
    server: DiscordServer, driver: DiscordDriver, body: str
) -> None:
    headers = {"Content-Type": "application/json"}
    server.answer = lambda: web.Response(body=body.encode(), headers=headers)
    for call in (driver.check(), driver.post(POST)):
        with pytest.raises(TransientFailure):
            await call


@pytest.mark.requirement("channels_discord.failures")
async def test_giving_up_during_a_rate_limit_of_everything_holds_up_nobody(
    server: DiscordServer, driver: DiscordDriver
) -> None:
    server.retry_after_s, server.limits_everything = 4.5, True
    server.faults.append(Fault.RATE_LIMITED)
    await driver.check()
    waiting = asyncio.create_task(driver.post(POST))
    library = await driver._client.library()
    async with asyncio.timeout(10.0):
        while library.http._global_over.is_set():
            await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(10.0):
        await driver.check()


@pytest.mark.requirement("channels_discord.failures")
@pytest.mark.parametrize("token", ["", "  "])
async def test_a_missing_token_is_fatal(server: DiscordServer, token: str) -> None:
    driver = make_driver(server, {"bot_token": token})
    with pytest.raises(FatalFailure, match="not set"):
        await driver.check()
    with pytest.raises(FatalFailure):
        await anext(driver.events())
    assert server.calls == []
    await driver.close()


async def test_a_token_is_taken_with_discords_own_prefix(server: DiscordServer) -> None:
    driver = make_driver(server, {"bot_token": f"Bot {TOKEN}"})
    assert (await driver.check()).scope == "Example"
    await driver.close()


async def test_a_check_that_is_refused_otherwise_is_tried_again(
    server: DiscordServer, driver: DiscordDriver
) -> None:
    for call in ("GET /users/@me", "GET /applications/@me"):
        server.errors = {call: (403, 40001)}
        with pytest.raises(TransientFailure):
            await driver.check()
