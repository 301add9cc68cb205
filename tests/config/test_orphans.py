"""Secrets that belong to no configured provider."""

from __future__ import annotations

import pytest

from netclaw.config.load import list_problems, list_warnings
from netclaw.config.secret_store import set_secret
from tests.config.homes import ONE_MODEL, TempHome


@pytest.mark.requirement("config.secrets-orphan")
def test_a_secret_of_another_provider_is_a_warning(temp: TempHome) -> None:
    temp.write(ONE_MODEL)
    set_secret(temp.home, "Providers.gone.ApiKey", "sk-of-old-days")
    set_secret(temp.home, "Providers.FAKE.ApiKey", "sk-of-today")
    loaded = temp.load()
    assert list(loaded.credentials) == ["fake"]
    assert loaded.credentials["fake"].secret == "sk-of-today"
    (warning,) = loaded.warnings
    assert warning.startswith("The secret Providers.gone.ApiKey is not used")
    assert "netclaw secrets unset Providers.gone.ApiKey" in warning
    assert list_problems(temp.home, temp.environ) == ()
    assert list_warnings(temp.home, temp.environ) == (warning,)


@pytest.mark.requirement("config.secrets-orphan")
def test_a_home_with_a_secret_alone_loads_without_a_model(temp: TempHome) -> None:
    set_secret(temp.home, "Providers.openai.ApiKey", "sk-early")
    assert temp.load().degraded_reason


@pytest.mark.requirement("config.secrets-orphan")
def test_secrets_from_the_environment_and_of_lists_are_orphans_too(temp: TempHome) -> None:
    temp.write(ONE_MODEL)
    set_secret(temp.home, "SkillFeeds.Feeds.0.ApiKey", "sk-of-a-feed")
    loaded = temp.load(NETCLAW_Providers__gone__ApiKey="sk-from-environment")
    assert len(loaded.warnings) == 2
    assert loaded.model.skill_feeds.feeds == ()


@pytest.mark.requirement("config.secrets-orphan")
def test_a_provider_without_a_type_stays_a_problem(temp: TempHome) -> None:
    temp.write('{"Providers": {"main": {"Endpoint": "http://h/v1"}}}')
    set_secret(temp.home, "Providers.main.ApiKey", "sk-1")
    (problem,) = list_problems(temp.home, temp.environ)
    assert problem[:2] == ("Providers.main.Type", "Providers.main.Type is missing.")
    assert list_warnings(temp.home, temp.environ) == ()
