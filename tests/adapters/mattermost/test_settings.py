"""The section of Mattermost, and what an answer of the server means."""

from __future__ import annotations

import pytest

from netclaw.adapters.driver import (
    ChannelConfig,
    DriverFailure,
    FatalFailure,
    RefusedFailure,
    TransientFailure,
)
from netclaw.adapters.mattermost.failures import GoneFailure, failure_of
from netclaw.adapters.mattermost.settings import read_settings

TOKEN = "abcdefghijklmnop0123456789"


def section(token: str = TOKEN, **options: str) -> ChannelConfig:
    """A section with a server."""
    given = {"server_url": "https://chat.example.com/"} | options
    return ChannelConfig(name="mattermost", secrets={"bot_token": token}, options=given)


@pytest.mark.requirement("channels_mattermost.settings")
def test_a_section_is_read() -> None:
    settings = read_settings(section(callback_url="http://netclaw.example.com:5199"))
    assert settings.server_url == "https://chat.example.com"
    assert settings.host == "chat.example.com"
    assert settings.action_url == "http://netclaw.example.com:5199/api/mattermost/actions"
    assert (settings.listen_host, settings.listen_port) == ("127.0.0.1", 5199)
    assert TOKEN not in repr(settings)
    assert read_settings(section()).action_url == ""
    whole = "https://n.example/api/mattermost/actions"
    assert read_settings(section(callback_url=whole)).action_url == whole
    below = read_settings(
        section(server_url="https://example.com/chat", callback_listen="[::1]:80")
    )
    assert (below.server_url, below.listen_host) == ("https://example.com/chat", "::1")


@pytest.mark.requirement("channels_mattermost.settings")
@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"server_url": ""}, "Mattermost.ServerUrl"),
        ({"server_url": "chat.example.com"}, "Mattermost.ServerUrl"),
        ({"server_url": "ftp://chat.example.com"}, "Mattermost.ServerUrl"),
        ({"server_url": "https://me:hunter2@chat.example.com"}, "Mattermost.ServerUrl"),
        ({"server_url": "https://chat.example.com:99999"}, "Mattermost.ServerUrl"),
        ({"server_url": "https://chat.example.com/?a=b"}, "Mattermost.ServerUrl"),
        ({"callback_url": "nowhere"}, "Mattermost.CallbackUrl"),
        ({"callback_listen": "5199"}, "Mattermost.CallbackListen"),
        ({"callback_listen": "localhost:0"}, "Mattermost.CallbackListen"),
        ({"callback_listen": "localhost:http"}, "Mattermost.CallbackListen"),
        ({"token": ""}, "Mattermost.BotToken"),
        ({"token": "two words"}, "Mattermost.BotToken"),
    ],
)
def test_what_is_wrong_with_a_section_is_said_with_its_key(given: dict[str, str], key: str) -> None:
    with pytest.raises(FatalFailure) as failed:
        read_settings(section(**given))
    assert key in failed.value.sentence
    assert failed.value.sentence.endswith(".")
    assert "hunter2" not in failed.value.sentence


@pytest.mark.requirement("channels_mattermost.failures")
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"id": "api.context.session_expired.app_error"}, FatalFailure),
        (403, {"id": "api.context.permissions.app_error"}, RefusedFailure),
        (404, {"id": "app.post.get.app_error"}, GoneFailure),
        (404, "a page of a proxy", FatalFailure),
        (301, None, FatalFailure),
        (400, {"id": "model.post.is_valid.msg.app_error"}, RefusedFailure),
        (400, "senseless", TransientFailure),
        (413, None, RefusedFailure),
        (408, None, TransientFailure),
        (499, {"id": "api.of_a_proxy"}, RefusedFailure),
        (500, {"id": "api.oops"}, TransientFailure),
        (501, {"id": "api.not_here"}, RefusedFailure),
        (503, "a page", TransientFailure),
    ],
)
def test_what_an_answer_means(status: int, body: object, kind: type[DriverFailure]) -> None:
    failure = failure_of(status, body, {}, now_s=0.0)
    assert type(failure) is kind
    assert failure.sentence.endswith(".")


@pytest.mark.requirement("channels_mattermost.failures")
@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"Retry-After": "3"}, 3.0),
        ({"X-Ratelimit-Reset": "1"}, 1.0),
        ({"X-Ratelimit-Reset": "1700000005"}, 5.0),
        ({"Retry-After": "soon", "X-Ratelimit-Reset": "2"}, 2.0),
        ({"Retry-After": "999999"}, None),
        ({}, None),
    ],
)
def test_how_long_a_rate_limit_lasts(headers: dict[str, str], wait_s: float | None) -> None:
    failure = failure_of(429, {"id": "api.limit"}, headers, now_s=1_700_000_000.0)
    assert isinstance(failure, TransientFailure)
    assert failure.retry_after_s == wait_s


@pytest.mark.requirement("channels_mattermost.failures")
def test_an_error_that_is_no_id_is_not_repeated() -> None:
    failure = failure_of(403, {"id": "<script>secret</script>"}, {}, now_s=0.0)
    assert "secret" not in failure.sentence
