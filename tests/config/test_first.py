"""The first configuration of a home."""

from __future__ import annotations

import json
import os

import pytest

from netclaw.config.first import first_document, write_first
from netclaw.config.jsonc_tree import parse, plain
from netclaw.core.errors import InvalidArgumentError
from tests.config.homes import ONE_MODEL, TempHome


def write(temp: TempHome, *, provider: str = "ollama", secret: str = "") -> None:
    """Write a first configuration."""
    write_first(
        temp.home,
        temp.environ,
        first_document(provider=provider, endpoint="", model="m", context_window=8192),
        secret_key=f"Providers.{provider}.ApiKey",
        secret=secret,
    )


def test_it_loads_and_explains_itself(temp: TempHome) -> None:
    write(temp)
    main = temp.load().session.main_model
    assert main is not None
    assert (main.model_id, main.context_window) == ("m", 8192)
    assert temp.text.startswith("//")
    assert temp.home.config_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("config.secrets-encrypted")
def test_the_credential_goes_to_the_secrets(temp: TempHome) -> None:
    write(temp, provider="anthropic", secret="sk-ant-secret")
    assert temp.load().credentials["anthropic"].secret == "sk-ant-secret"
    for path in temp.home.root.rglob("*"):
        assert not path.is_file() or b"sk-ant-secret" not in path.read_bytes()


def test_nothing_is_written_that_would_not_load(temp: TempHome) -> None:
    temp.write(ONE_MODEL)
    with pytest.raises(InvalidArgumentError, match="has no credential"):
        write(temp, provider="anthropic")
    assert temp.text == ONE_MODEL
    assert not temp.home.secrets_file.exists()


@pytest.mark.parametrize("old", [ONE_MODEL, '{"broken": '])
def test_what_was_there_is_kept_beside(temp: TempHome, old: str) -> None:
    temp.write(old)
    write(temp)
    backup = temp.home.config_file.with_suffix(".json.bak")
    assert backup.read_text() == old
    assert json.dumps(plain(parse(temp.text)))


def test_a_pipe_is_no_configuration_to_keep(temp: TempHome) -> None:
    temp.home.config_dir.mkdir(parents=True)
    os.mkfifo(temp.home.config_file)
    with pytest.raises(InvalidArgumentError, match="is no regular file"):
        write(temp)
