"""`secrets`, and what a stored credential does to the rest."""

from __future__ import annotations

import pytest

from netclaw.config.home import Home
from netclaw.config.load import load_config
from tests.cli.runner import Cli

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
