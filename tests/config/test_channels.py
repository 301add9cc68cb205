"""Channels of other packages in the configuration, and sections as the daemon hands them on."""

from __future__ import annotations

import json

import pytest

from netclaw.adapters.configured import channel_plan, enabled_channels
from netclaw.config.secret_store import set_secret
from netclaw.core.authority import Audience
from netclaw.core.errors import InvalidArgumentError
from tests.config.homes import TempHome


@pytest.mark.requirement("channel_host.fourth")
def test_a_section_is_handed_on_with_its_secrets_and_options(temp: TempHome) -> None:
    slack = {"Enabled": True, "ApiBaseUrl": "http://127.0.0.1:1/", "AllowedUserIds": ["U1"]}
    loop = {
        "Enabled": True,
        "Options": {"server_url": "http://127.0.0.1:2"},
        "ChannelAudiences": {"room": "team"},
        "DefaultChannelId": "room",
    }
    channels = {"loop": loop, "pool": {"Enabled": False}}
    temp.write(json.dumps({"configVersion": 1, "Slack": slack, "Channels": channels}))
    set_secret(temp.home, "Channels.loop.BotToken", "the-token")
    config = temp.load()

    found = enabled_channels(config.model)
    assert set(found) == {"slack", "loop"}
    assert found["slack"].options["api_base_url"].startswith("http://127.0.0.1:1")
    assert found["slack"].allowed_user_ids == {"U1"}
    assert found["loop"].secrets == {"bot_token": "the-token"}
    assert found["loop"].options == {"server_url": "http://127.0.0.1:2"}
    assert found["loop"].channel_audiences == {"room": "Team"}
    assert config.daemon.channel_audiences == {"channel:loop": {"room": Audience.TEAM}}
    assert "the-token" in config.redactions


@pytest.mark.requirement("channels.disabled-listed")
@pytest.mark.requirement("channels.log-level")
def test_a_plan_names_what_has_a_section_and_how_much_is_logged(temp: TempHome) -> None:
    sections = {"Slack": {}, "Discord": {"Enabled": True}, "Channels": {"pool": {}}}
    level = {"LogLevel": {"Default": "error"}}
    temp.write(json.dumps({"configVersion": 1, "Logging": level, **sections}))

    plan = channel_plan(temp.load().model)
    assert (set(plan.enabled), set(plan.disabled)) == ({"discord"}, {"slack", "pool"})
    assert plan.log_level == "Error"


@pytest.mark.parametrize("name", ["slack", "Loop", "a b", "../x"])
def test_a_channel_of_another_package_cannot_be_called_anything(temp: TempHome, name: str) -> None:
    temp.write(json.dumps({"configVersion": 1, "Channels": {name: {"Enabled": True}}}))
    with pytest.raises(InvalidArgumentError, match="lower-case letters"):
        temp.load()
