"""What Slack's refusals mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web

from netclaw.adapters.driver import (
    DriverFailure,
    FatalFailure,
    Post,
    RefusedFailure,
    TransientFailure,
)
from netclaw.adapters.slack.driver import SlackDriver
from tests.adapters.slack.rig import make_driver
from tests.adapters.slack.threads import THREAD
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, SlackServer

POST = Post(thread=THREAD, key="1.0", text="hello")


@pytest.mark.requirement("channels_slack.failures")
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("token_revoked", FatalFailure),
        ("account_inactive", FatalFailure),
        ("missing_scope", FatalFailure),
        ("internal_error", TransientFailure),
        ("ratelimited", TransientFailure),
        ("not_in_channel", RefusedFailure),
        ("is_archived", RefusedFailure),
        ("some_new_code", RefusedFailure),
    ],
)
async def test_a_code_says_whether_to_try_again(
    slack: SlackServer, driver: SlackDriver, code: str, kind: type[DriverFailure]
) -> None:
    slack.errors["chat.postMessage"] = {"error": code}
    with pytest.raises(kind) as failed:
        await driver.post(POST)
    assert type(failed.value) is kind
    assert failed.value.sentence.endswith(".")


@pytest.mark.requirement("channels_slack.failures")
async def test_a_missing_permission_is_named_and_nothing_else(
    slack: SlackServer, driver: SlackDriver
) -> None:
    slack.errors["chat.postMessage"] = {"error": "missing_scope", "needed": "chat:write"}
    with pytest.raises(FatalFailure, match="chat:write"):
        await driver.post(POST)
    slack.errors["chat.postMessage"] = {"error": f"Bearer {BOT_TOKEN}"}
    with pytest.raises(DriverFailure) as failed:
        await driver.post(POST)
    assert BOT_TOKEN not in failed.value.sentence


@pytest.mark.requirement("channels_slack.failures")
@pytest.mark.parametrize(
    "secrets",
    [
        {"bot_token": ""},
        {"app_token": ""},
        {"bot_token": APP_TOKEN, "app_token": BOT_TOKEN},
    ],
)
async def test_tokens_that_are_missing_or_mixed_up_are_fatal(
    slack: SlackServer, secrets: dict[str, str]
) -> None:
    driver = make_driver(slack, secrets)
    with pytest.raises(FatalFailure):
        await driver.check()
    with pytest.raises(FatalFailure):
        await anext(driver.events())
    assert slack.methods() == []
    await driver.close()


@pytest.mark.requirement("channels_slack.failures")
@pytest.mark.parametrize(
    ("status", "content_type", "body", "kind"),
    [
        (200, "text/html", "<html>a wall</html>", TransientFailure),
        (200, "text/plain", "a wall", TransientFailure),
        (200, "application/json", "{", TransientFailure),
        (200, "application/json", "[]", TransientFailure),
        (200, "application/json", "{}", TransientFailure),
        (502, "text/html", "<html>bad gateway</html>", TransientFailure),
        (429, "application/json", "", TransientFailure),
        (404, "text/html", "nothing here", FatalFailure),
    ],
)
async def test_answers_that_are_not_slacks_are_told_apart_too(
    slack: SlackServer,
    driver: SlackDriver,
    status: int,
    content_type: str,
    body: str,
    kind: type[DriverFailure],
) -> None:
    slack.answer = lambda: web.Response(status=status, text=body, content_type=content_type)
    for call in (driver.check(), driver.post(POST), anext(driver.events())):
        with pytest.raises(kind) as failed:
            await call
        assert type(failed.value) is kind
        assert body[:5] not in failed.value.sentence or not body


async def test_a_check_that_slack_refuses_otherwise_is_tried_again(
    slack: SlackServer, driver: SlackDriver
) -> None:
    for method in ("auth.test", "apps.connections.open"):
        slack.errors = {method: {"error": "some_new_code"}}
        with pytest.raises(TransientFailure):
            await anext(driver.events())


async def test_an_app_token_that_is_revoked_alone_is_fatal(
    slack: SlackServer, driver: SlackDriver
) -> None:
    slack.errors["apps.connections.open"] = {"error": "invalid_auth"}
    await driver.check()
    with pytest.raises(FatalFailure):
        await anext(driver.events())


@pytest.mark.requirement("channel_host.doctor-whole")
async def test_doctor_tries_both_tokens_and_names_the_one_that_is_refused(
    slack: SlackServer, driver: SlackDriver
) -> None:
    await driver.check()
    await driver.check_rest()
    slack.errors["apps.connections.open"] = {"error": "invalid_auth"}
    with pytest.raises(FatalFailure, match="app token") as failed:
        await driver.check_rest()
    assert "netclaw secrets set Slack.AppToken" in failed.value.fix
    slack.errors["apps.connections.open"] = {"error": "missing_scope"}
    with pytest.raises(FatalFailure) as failed:
        await driver.check_rest()
    assert "connections:write" in failed.value.fix
    slack.errors["auth.test"] = {"error": "invalid_auth"}
    with pytest.raises(FatalFailure, match="bot token") as failed:
        await driver.check()
    assert "netclaw secrets set Slack.BotToken" in failed.value.fix


@pytest.mark.requirement("channels_slack.optional")
async def test_what_the_app_may_not_do_is_left_out(
    slack: SlackServer, driver: SlackDriver, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a")
    refusal: dict[str, object] = {"error": "missing_scope", "needed": "x:read"}
    for method in (
        "assistant.threads.setStatus",
        "users.list",
        "conversations.list",
        "files.getUploadURLExternal",
    ):
        slack.errors[method] = refusal
    for call in (
        driver.set_status(THREAD, "is thinking..."),
        driver.find_users("ann"),
        driver.find_places("room"),
        driver.upload(THREAD, path, "a.txt", "2.0"),
    ):
        with pytest.raises(RefusedFailure, match="x:read"):
            await call
