"""A fake provider, a connection pool and clients for it, one for each dialect."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from netclaw.models.anthropic import AnthropicClient
from netclaw.models.connections import ModelConnections
from netclaw.models.openai_compatible import OpenAICompatibleClient
from netclaw.ports.model import ModelClient
from tests.fakes.model import FakeModel
from tests.models.tools import settings_for


@pytest.fixture
async def fake() -> AsyncIterator[FakeModel]:
    """A fake provider without latency."""
    async with FakeModel() as model:
        yield model


@pytest.fixture
async def connections() -> AsyncIterator[ModelConnections]:
    """The pool of one process."""
    async with ModelConnections() as pool:
        yield pool


@pytest.fixture
def chat_client(fake: FakeModel, connections: ModelConnections) -> OpenAICompatibleClient:
    """A client of the fake that speaks chat completions and tries once."""
    return OpenAICompatibleClient(settings_for(fake.url), connections)


@pytest.fixture
def anthropic_client(fake: FakeModel, connections: ModelConnections) -> AnthropicClient:
    """A client of the fake that speaks Anthropic's Messages and tries once."""
    return AnthropicClient(settings_for(fake.base_url), connections)


@pytest.fixture(params=["chat_client", "anthropic_client"])
def client(request: pytest.FixtureRequest) -> ModelClient:
    """A client of the fake in either dialect: what they promise is the same."""
    made: ModelClient = request.getfixturevalue(request.param)
    return made
