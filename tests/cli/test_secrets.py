"""`secrets`, and what a stored credential does to the rest."""

from __future__ import annotations

import pytest

from netclaw.config.home import Home
from netclaw.config.load import load_config
from netclaw.core.errors import InvalidArgumentError
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon

INIT = ("init", "--non-interactive", "--force")
SERVICE = (*INIT, "--provider", "openai-compatible", "--endpoint", "http://127.0.0.1:9/v1")
OLLAMA = (*INIT, "--provider", "ollama", "--model", "qwen3")


@pytest.mark.requirement("config.secrets-orphan")
def test_a_stored_key_does_not_tie_to_its_provider(
    cli: Cli, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-of-the-first")
    cli.ok(*SERVICE, "--model", "fake", "--api-key-env", "MY_KEY")
    cli.ok(*OLLAMA)
    main = load_config(home, {}).session.main_model
    assert main is not None
    assert main.provider == "ollama"
    validated = cli.ok("config", "validate", "--json")
    assert validated.json["valid"] is True
    assert len(validated.json["warnings"]) == 1
    assert "[WARN] config validate: The secret Providers.openai-compatible.ApiKey" in validated.err
    assert "sk-of-the-first" not in validated.out + validated.err
    cli.ok(*SERVICE, "--model", "fake")
    assert load_config(home, {}).credentials["openai-compatible"].secret == "sk-of-the-first"


@pytest.mark.requirement("config.secrets-checked")
def test_a_secret_for_an_unknown_provider_is_refused_unwritten(cli: Cli, home: Home) -> None:
    nobody = cli("secrets", "set", "Providers.main.ApiKey", "sk-1")
    assert nobody.code == 1
    assert "no provider named main; none is configured" in nobody.err
    cli.ok(*OLLAMA)
    result = cli("secrets", "set", "Providers.main.ApiKey", "sk-1")
    assert result.code == 1
    assert "There is no provider named main; you have: ollama." in result.err
    assert not home.secrets_file.exists()
    cli.ok("secrets", "set", "Providers.anthropic.ApiKey", "sk-before-init")
    cli.ok(*INIT, "--provider", "anthropic", "--model", "m")
    assert load_config(home, {}).credentials["anthropic"].secret == "sk-before-init"


@pytest.mark.requirement("config.secrets-checked")
def test_a_secret_that_the_daemon_refuses_is_not_kept(
    cli: Cli, home: Home, daemon: ScriptedDaemon
) -> None:
    cli.ok(*OLLAMA)
    cli.ok("secrets", "set", "Providers.ollama.ApiKey", "sk-1")
    before = home.secrets_file.read_text()
    daemon.refuse["Reload"] = InvalidArgumentError("The daemon says no.")
    for words in (["set", "Slack.BotToken", "xoxb-1"], ["unset", "Providers.ollama.ApiKey"]):
        assert cli("secrets", *words).code == 1
        assert home.secrets_file.read_text() == before


@pytest.mark.requirement("config.secrets-write-only")
def test_stored_secrets_are_named_and_removed(cli: Cli, home: Home) -> None:
    assert cli.ok("secrets", "list", "--json").json == []
    assert "no credentials" in cli.ok("secrets").err
    cli.ok(*OLLAMA)
    cli.ok("secrets", "set", "Slack.BotToken", "xoxb-secret")
    cli.ok("secrets", "set", "Providers.ollama.ApiKey", "sk-secret")
    listed = cli.ok("secrets", "list")
    assert listed.out.splitlines() == ["Providers.ollama.ApiKey", "Slack.BotToken"]
    row = cli.ok("secrets", "unset", "providers.OLLAMA.apikey", "--json").json
    assert row == {"key": "Providers.ollama.ApiKey", "stored": False, "applied": "next-start"}
    assert cli.ok("secrets", "list", "--json").json == [{"key": "Slack.BotToken"}]
    assert "Providers" not in home.secrets_file.read_text()
    again = cli("secrets", "unset", "Providers.ollama.ApiKey", "--json")
    assert (again.code, again.json["error"]["code"]) == (1, "not_found")
