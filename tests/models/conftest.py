"""A fake provider, a connection pool and clients for it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from netclaw.models.connections import ModelConnections
from netclaw.models.openai_compatible import OpenAICompatibleClient
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
def client(fake: FakeModel, connections: ModelConnections) -> OpenAICompatibleClient:
    """A client of the fake that tries once."""
    return OpenAICompatibleClient(settings_for(fake.url), connections)
