"""`netclaw mcp` and doctor's lines about tool servers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from netclaw.config.home import Home, find_home
from tests.cli.runner import Cli
from tests.cli.test_completion import offered
from tests.mcp.conftest import Fake
from tests.repo import tree

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def home(short_tmp: Path, monkeypatch: pytest.MonkeyPatch, fake: Fake) -> Home:
    """A home with a server that works, one that does not, and two that are not asked."""
    monkeypatch.setenv("NETCLAW_HOME", str(short_tmp / "home"))
    made = find_home({"NETCLAW_HOME": str(short_tmp / "home")})
    made.config_dir.mkdir(parents=True, mode=0o700)
    server = fake.stdio()
    servers = {
        "files": {"Command": sys.executable, "Arguments": list(server.arguments)},
        "mute": {"Command": "/bin/true"},
        "off": {"Command": "/bin/true", "Enabled": False},
        "wrong": {"Transport": "pigeon"},
    }
    made.config_file.write_text(json.dumps({"McpServers": servers}))
    secret = {"McpServers": {"files": {"EnvironmentVariables": {"PYTHONPATH": str(tree.ROOT)}}}}
    made.secrets_file.write_text(json.dumps(secret))
    return made


@pytest.fixture
def cli(home: Home, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs commands in this process."""
    return Cli(home, capsys)


@pytest.mark.requirement("mcp.list")
def test_list_and_status_tell_how_each_server_stands(cli: Cli) -> None:
    rows = {row["name"]: row for row in cli.ok("mcp", "list", "--json").json}
    assert rows["files"] == {
        "name": "files",
        "transport": "stdio",
        "state": "connected",
        "tools": 12,
    }
    states = {name: row["state"] for name, row in rows.items()}
    assert states["mute"] == "unreachable"
    assert (states["off"], states["wrong"]) == ("disabled", "disabled")
    assert "Transport" in rows["wrong"]["reason"]
    text = cli.ok("mcp").out
    assert "connected (12)" in text
    assert str(tree.ROOT) not in text
    (one,) = cli.ok("mcp", "status", "files", "--json").json
    assert {"name": "files__echo", "grant": "mcp:files:echo"} in one["toolNames"]
    assert "mcp:files:echo" in cli.ok("mcp", "status", "files").out


@pytest.mark.requirement("mcp.list")
def test_an_unknown_server_is_not_found(cli: Cli) -> None:
    result = cli("mcp", "status", "nobody", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "not_found")


@pytest.mark.requirement("mcp.doctor")
def test_doctor_asks_servers_and_tells_of_bad_entries(cli: Cli) -> None:
    checks = cli("doctor", "--json").json["checks"]
    told = {row["message"]: row["verdict"] for row in checks if row["name"] == "tool server"}
    assert told["files: 12 tools."] == "PASS"
    (unreachable,) = (text for text in told if text.startswith("mute is unreachable."))
    assert told[unreachable] == "WARN"
    configuration = [row["message"] for row in checks if row["name"] == "configuration"]
    assert any("'wrong' is disabled" in text for text in configuration)


@pytest.mark.requirement("operator.completion")
def test_names_of_servers_are_offered(home: Home) -> None:
    assert offered("mcp", "status", "m") == ["mute"]
    home.config_file.write_text("{")
    assert offered("mcp", "status", "m") == []
