"""What `doctor` finds of channels, with the platforms on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from netclaw.cli.doctor.channels import check_channels
from netclaw.cli.doctor.findings import Finding, Verdict
from netclaw.config.home import Home
from netclaw.config.load import load_config
from netclaw.wire.v1.admin_pb2 import AdapterRow, StatusResponse
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, SlackServer
from tests.fakes.slack_store import ANN, CHANNEL

pytestmark = pytest.mark.requirement("channel_host.doctor-whole")


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    """A workspace."""
    async with SlackServer() as server:
        yield server


async def findings(
    home: Home, slack: SlackServer, *adapters: AdapterRow, **more: object
) -> list[Finding]:
    """What is found of Slack with these keys, while a daemon says this of its adapters."""
    section = {
        "Enabled": True,
        "ApiBaseUrl": slack.options["api_base_url"],
        "AllowedChannelIds": [CHANNEL],
        "AllowedUserIds": [ANN],
    }
    home.config_file.parent.mkdir(parents=True, exist_ok=True)
    home.config_file.write_text(json.dumps({"Slack": section | more}))
    tokens = {"NETCLAW_Slack__BotToken": BOT_TOKEN, "NETCLAW_Slack__AppToken": APP_TOKEN}
    loaded = load_config(home, tokens)
    status = StatusResponse(adapters=adapters)
    return await asyncio.to_thread(lambda: list(check_channels(loaded, status)))


async def test_a_refused_app_token_is_found_and_named(home: Home, slack: SlackServer) -> None:
    assert [each.verdict for each in await findings(home, slack)] == [Verdict.PASS]
    slack.errors["apps.connections.open"] = {"error": "invalid_auth"}
    (found,) = await findings(home, slack)
    assert (found.verdict, found.message) == (
        Verdict.FAIL,
        "slack: Slack refuses the app token (invalid_auth).",
    )
    assert "netclaw secrets set Slack.AppToken" in found.fix


async def test_what_holds_up_the_daemon_alone_is_no_pass_alone(
    home: Home, slack: SlackServer
) -> None:
    failed = AdapterRow(channel="slack", state="failed", last_failure="Something is off.")
    held_up = AdapterRow(channel="slack", state="disconnected", last_failure="The port is taken.")
    well = AdapterRow(channel="slack", state="ready", last_failure="A reply was given up.")
    other = AdapterRow(channel="discord", state="failed", last_failure="Something is off.")
    found = await findings(home, slack, failed, other)
    assert [each.verdict for each in found] == [Verdict.PASS, Verdict.FAIL]
    assert found[1].message == "slack: the daemon's adapter is failed: Something is off."
    assert "netclaw daemon restart" in found[1].fix
    found = await findings(home, slack, held_up)
    assert [each.verdict for each in found] == [Verdict.PASS, Verdict.WARN]
    assert [each.verdict for each in await findings(home, slack, well)] == [Verdict.PASS]


async def test_a_name_in_the_place_of_an_id_is_named(home: Home, slack: SlackServer) -> None:
    found = await findings(
        home,
        slack,
        AllowedChannelIds=[CHANNEL, "#general"],
        AllowedUserIds=["ann"],
        ChannelAudiences={"dm": "Team", "lobby": "Team"},
    )
    assert [each.verdict for each in found[1:]] == [Verdict.WARN] * 3
    assert [each.message.partition("by it: ")[2] for each in found[1:]] == [
        "#general (Slack.AllowedChannelIds).",
        "ann (Slack.AllowedUserIds).",
        "lobby (Slack.ChannelAudiences).",
    ]
    (_, found_default) = await findings(home, slack, DefaultChannelId="#general")
    assert "(Slack.DefaultChannelId)" in found_default.message
