"""`McpServers`: what becomes of an entry, and of one that is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netclaw.config.edit import set_key
from netclaw.config.load import list_problems
from netclaw.core.errors import InvalidArgumentError
from netclaw.core.tool_servers import ToolServerSettings
from netclaw.wire.journal_codec import decode_settings, encode_settings
from tests.config.homes import TempHome

GOOD = {"Command": "/usr/bin/tool", "Arguments": ["--root", "a b"]}


@pytest.fixture
def temp(tmp_path: Path) -> TempHome:
    """A home."""
    return TempHome(tmp_path / "home")


def write(temp: TempHome, **servers: object) -> None:
    """A configuration with these servers."""
    temp.write(json.dumps({"McpServers": servers}))


def settings(temp: TempHome) -> dict[str, ToolServerSettings]:
    """The servers as a session gets them."""
    return {server.name: server for server in temp.load().session.tools.servers}


@pytest.mark.requirement("mcp.bad-entry")
@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({"Transport": "pigeon", "Command": "x"}, "Transport"),
        ({"Command": "x", "Argument": []}, "Argument"),
        ({"Command": ["x"]}, "Command"),
        ({}, "McpServers.bad.Command is missing."),
        ({"Transport": "http"}, "McpServers.bad.Url is missing."),
        ("nonsense", "McpServers.bad"),
    ],
)
def test_a_bad_entry_disables_itself_alone(temp: TempHome, bad: object, why: str) -> None:
    write(temp, good=GOOD, bad=bad)
    servers = settings(temp)
    assert servers["good"].is_usable
    assert servers["good"].arguments == ("--root", "a b")
    assert not servers["bad"].is_usable
    assert why in servers["bad"].fault
    assert any("'bad' is disabled" in line for line in temp.load().warnings)


@pytest.mark.requirement("mcp.bad-entry")
def test_a_name_that_no_grant_can_hold_is_refused(temp: TempHome) -> None:
    write(temp, **{"two words": GOOD})
    assert "letters, digits" in settings(temp)["two words"].fault


@pytest.mark.requirement("mcp.bad-entry")
def test_checking_tells_of_it_and_no_edit_writes_it(temp: TempHome) -> None:
    write(temp, bad={"Transport": "pigeon"})
    keys = [key for key, _, _ in list_problems(temp.home, temp.environ)]
    assert keys == ["McpServers.bad.Transport"]
    write(temp, good=GOOD)
    before = temp.text
    with pytest.raises(InvalidArgumentError):
        set_key(temp.home, temp.environ, "McpServers.good.Transport", "pigeon")
    assert temp.text == before


@pytest.mark.requirement("mcp.bad-entry")
def test_other_mistakes_still_stop_the_start(temp: TempHome) -> None:
    temp.write(json.dumps({"McpServers": {"bad": {"Transport": 1}}, "Session": {"Nonsense": 1}}))
    with pytest.raises(InvalidArgumentError):
        temp.load()


@pytest.mark.requirement("mcp.secrets")
def test_values_travel_with_the_credentials_and_are_redacted(temp: TempHome) -> None:
    write(temp, good=GOOD, web={"Transport": "http", "Url": "https://tools.example/mcp"})
    temp.write_secrets(
        json.dumps(
            {
                "McpServers": {
                    "good": {"EnvironmentVariables": {"TOKEN": "sesame-open"}},
                    "web": {"Headers": {"X-Api-Key": "sesame-header"}},
                }
            }
        )
    )
    loaded = temp.load()
    credentials = {name: item.secret for name, item in loaded.credentials.items()}
    good, web = loaded.session.tools.servers
    assert good.environment_from(credentials) == {"TOKEN": "sesame-open"}
    assert web.headers_from(credentials) == {"X-Api-Key": "sesame-header"}
    assert {"sesame-open", "sesame-header"} <= set(loaded.redactions)
    encoded = encode_settings(loaded.session)
    assert b"sesame" not in encoded
    assert decode_settings(encoded) == loaded.session
    assert "sesame" not in repr(loaded)


@pytest.mark.requirement("mcp.states")
def test_keys_for_a_sign_in_are_said_to_have_no_effect(temp: TempHome) -> None:
    write(temp, good=GOOD | {"OAuthClientId": "me"})
    (line,) = (line for line in temp.load().warnings if "OAuth" in line)
    assert line == "McpServers.good: its OAuth keys are accepted and have no effect yet."
