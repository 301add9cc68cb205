"""secrets.json, the key ring, credentials of a service manager."""

from __future__ import annotations

import errno
import json
import stat
from pathlib import Path

import pytest

from netclaw.config.documents import editing
from netclaw.config.keyring import load_key_ring, make_key_ring
from netclaw.config.secret_store import set_secret
from netclaw.core.errors import (
    InvalidArgumentError,
    StorageFullError,
    StorageReadOnlyError,
)
from tests.config.homes import TempHome

KEY = "Providers.fake.ApiKey"
PROVIDER = '{"Providers": {"fake": {"Type": "openai-compatible", "Endpoint": "http://h/v1"}}}'


def mode(path: Path) -> int:
    """Permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.requirement("config.secrets-encrypted")
def test_a_secret_is_stored_encrypted_and_private(temp: TempHome) -> None:
    temp.write(PROVIDER)
    assert set_secret(temp.home, "providers.FAKE.apikey", "sk-very-secret") == (
        "Providers.FAKE.ApiKey"
    )
    stored = temp.home.secrets_file.read_text()
    assert "sk-very-secret" not in stored
    assert json.loads(stored)["Providers"]["FAKE"]["ApiKey"].startswith("ENC:")
    assert mode(temp.home.secrets_file) == 0o600
    assert mode(temp.home.keys_dir) == 0o700
    assert mode(temp.home.keys_dir / "ring.json") == 0o600
    assert temp.load().credentials["fake"].secret == "sk-very-secret"


@pytest.mark.requirement("config.secrets-encrypted")
def test_plain_values_are_encrypted_when_they_are_first_read(temp: TempHome) -> None:
    temp.write(PROVIDER)
    temp.write_secrets('{"providers": {"fake": {"apiKey": "sk-plain-text"}}}')
    temp.home.secrets_file.chmod(0o644)
    assert temp.load().credentials["fake"].secret == "sk-plain-text"
    assert "sk-plain-text" not in temp.home.secrets_file.read_text()
    assert mode(temp.home.secrets_file) == 0o600
    first = temp.home.secrets_file.read_text()
    assert temp.load().credentials["fake"].secret == "sk-plain-text"
    assert temp.home.secrets_file.read_text() == first


def test_plain_values_in_a_folder_that_cannot_be_written_are_used_with_a_warning(
    temp: TempHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> None:
        raise StorageReadOnlyError("The folder cannot be written.")

    temp.write(PROVIDER)
    temp.write_secrets('{"Providers": {"fake": {"ApiKey": "sk-plain-text"}}}')
    monkeypatch.setattr("netclaw.config.secret_store.write_private", refuse)
    loaded = temp.load()
    assert loaded.credentials["fake"].secret == "sk-plain-text"
    assert "stay unencrypted" in loaded.warnings[0]


@pytest.mark.parametrize(
    ("number", "kind"),
    [(errno.ENOSPC, StorageFullError), (errno.EROFS, StorageReadOnlyError)],
)
def test_a_write_that_fails_leaves_the_old_file(
    temp: TempHome, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(number, "no")

    set_secret(temp.home, "Slack.BotToken", "xoxb-1")
    before = temp.home.secrets_file.read_text()
    monkeypatch.setattr("netclaw.config.documents.os.fsync", fail)
    with pytest.raises(kind):
        set_secret(temp.home, "Slack.BotToken", "xoxb-2")
    assert temp.home.secrets_file.read_text() == before
    assert sorted(path.name for path in temp.home.config_dir.iterdir()) == [
        ".lock",
        "secrets.json",
    ]


def test_secrets_in_lists_are_changed_one_by_one(temp: TempHome) -> None:
    feeds = [{"Name": "a", "Url": "http://a"}, {"Name": "b", "Url": "http://b"}]
    temp.write(json.dumps({"SkillFeeds": {"Feeds": feeds}}))
    set_secret(temp.home, "SkillFeeds.Feeds.1.ApiKey", "second")
    feed = temp.load().model.skill_feeds.feeds[1]
    assert feed.name == "b"
    assert feed.api_key is not None
    assert feed.api_key.get_secret_value() == "second"


def test_setting_one_secret_keeps_the_others(temp: TempHome) -> None:
    set_secret(temp.home, "Slack.BotToken", "xoxb-1")
    set_secret(temp.home, "Slack.AppToken", "xapp-1")
    set_secret(temp.home, "Slack.BotToken", "xoxb-2")
    slack = temp.load().model.slack
    assert slack.bot_token is not None
    assert slack.app_token is not None
    assert slack.bot_token.get_secret_value() == "xoxb-2"
    assert slack.app_token.get_secret_value() == "xapp-1"


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("Session.IdleTimeout", "x", "is not a secret"),
        ("Slack.BotTokn", "x", "not a known key"),
        ("Slack.BotToken", "", "not empty"),
        ("Slack.BotToken", "a\nb", "no line breaks"),
        ("Slack..BotToken", "x", "is not a dotted key"),
        ("", "x", "is not a dotted key"),
    ],
)
def test_what_is_no_secret_is_refused(temp: TempHome, key: str, value: str, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        set_secret(temp.home, key, value)
    assert not temp.home.secrets_file.exists()


@pytest.mark.requirement("config.secrets-bound")
def test_a_ciphertext_opens_only_under_its_own_key(temp: TempHome) -> None:
    set_secret(temp.home, "Slack.BotToken", "xoxb-1")
    content = json.loads(temp.home.secrets_file.read_text())
    sealed = content["Slack"]["BotToken"]
    temp.write_secrets(json.dumps({"Slack": {"AppToken": sealed}}))
    with pytest.raises(InvalidArgumentError, match="changed, moved or cut"):
        temp.load()
    temp.write_secrets(json.dumps({"slack": {"BOTTOKEN": sealed}}))
    assert temp.load().model.slack.bot_token is not None


@pytest.mark.parametrize("damage", ["ENC:", "ENC:x:y", "ENC:{id}:%%%", "ENC:{id}:AAAA"])
def test_a_damaged_secret_is_one_sentence(temp: TempHome, damage: str) -> None:
    set_secret(temp.home, "Slack.BotToken", "xoxb-1")
    ring = load_key_ring(temp.home)
    assert ring is not None
    value = damage.replace("{id}", ring.current)
    temp.write_secrets(json.dumps({"Slack": {"BotToken": value}}))
    with pytest.raises(
        InvalidArgumentError, match=r"Slack\.BotToken cannot be decrypted"
    ) as caught:
        temp.load()
    assert "secrets set Slack.BotToken" in caught.value.fix


@pytest.mark.requirement("config.lost-keys")
def test_lost_keys_are_lost_secrets_and_say_so(temp: TempHome) -> None:
    set_secret(temp.home, "Slack.BotToken", "xoxb-1")
    (temp.home.keys_dir / "ring.json").unlink()
    with pytest.raises(InvalidArgumentError, match="not in the key ring"):
        temp.load()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"current": "a", "keys": {"a": "AA=="}}', "{"])
def test_a_damaged_key_ring_is_one_sentence(temp: TempHome, text: str) -> None:
    temp.home.keys_dir.mkdir(parents=True)
    (temp.home.keys_dir / "ring.json").write_text(text)
    with pytest.raises(InvalidArgumentError, match="is damaged"):
        load_key_ring(temp.home)


def test_a_key_ring_is_made_once(temp: TempHome) -> None:
    with editing(temp.home):
        assert make_key_ring(temp.home) == make_key_ring(temp.home)


def test_the_same_secret_is_never_stored_as_the_same_text(temp: TempHome) -> None:
    set_secret(temp.home, "Slack.BotToken", "xoxb-1")
    first = temp.home.secrets_file.read_text()
    set_secret(temp.home, "Slack.BotToken", "xoxb-1")
    assert temp.home.secrets_file.read_text() != first


@pytest.mark.requirement("config.service-credentials")
def test_credentials_of_the_service_manager_win_over_the_file(
    temp: TempHome, tmp_path: Path
) -> None:
    temp.write(PROVIDER)
    set_secret(temp.home, KEY, "from-secrets")
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / f"netclaw.{KEY}").write_text("from-manager\n")
    (folder / "unrelated").write_bytes(b"\xff")
    loaded = temp.load(CREDENTIALS_DIRECTORY=str(folder))
    assert loaded.credentials["fake"].secret == "from-manager"
    loaded = temp.load(
        CREDENTIALS_DIRECTORY=str(folder), NETCLAW_Providers__fake__ApiKey="from-environment"
    )
    assert loaded.credentials["fake"].secret == "from-environment"


def test_an_unreadable_credential_is_one_sentence(temp: TempHome, tmp_path: Path) -> None:
    (tmp_path / f"netclaw.{KEY}").write_bytes(b"\xff")
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        temp.load(CREDENTIALS_DIRECTORY=str(tmp_path))
    (tmp_path / "netclaw.No.Such.Key").write_text("x")
    with pytest.raises(InvalidArgumentError):
        temp.load(CREDENTIALS_DIRECTORY=str(tmp_path))
    assert temp.load(CREDENTIALS_DIRECTORY=str(tmp_path / "absent")) is not None
