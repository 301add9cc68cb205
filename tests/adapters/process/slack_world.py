"""A daemon whose one channel is a workspace of the fake Slack."""

from __future__ import annotations

from typing import Any

from netclaw.wire.v1.admin_pb2 import AdapterRow
from tests.fakes.slack import SlackServer
from tests.fakes.slack_store import ANN, BEN, CHANNEL
from tests.process.world import World


def slack_section(slack: SlackServer, **more: object) -> dict[str, Any]:
    """The configuration of a daemon that serves the fake's room."""
    section = {
        "Enabled": True,
        "BotToken": slack.secrets["bot_token"],
        "AppToken": slack.secrets["app_token"],
        "ApiBaseUrl": slack.options["api_base_url"],
        "AllowedChannelIds": [CHANNEL],
        "AllowedUserIds": [ANN, BEN],
    }
    return {"Slack": section | more}


def restless_section(slack: SlackServer) -> dict[str, Any]:
    """The same, with so few places for sessions that they passivate while others talk."""
    return {**slack_section(slack), "Daemon": {"MaxLiveSessions": 40}}


async def slack_ready(world: World) -> AdapterRow:
    """The adapter as `status` shows it, once it is connected."""
    status = await world.peer.wait_status(
        lambda found: any(row.state == "ready" for row in found.adapters)
    )
    return next(row for row in status.adapters if row.state == "ready")
