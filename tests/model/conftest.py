"""The embedded model, pulled once into the environment and served for the tests of this folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from netclaw.core.settings import ModelSettings, ProviderType
from netclaw.models.connections import ModelConnections
from netclaw.models.factory import open_client
from netclaw.models.local import LocalServer
from netclaw.models.pull import SMOLLM2, pull
from netclaw.ports.model import ModelClient
from tests.fakes.port_file import await_port
from tests.repo.tree import ROOT

CONTEXT_TOKENS = 512


@pytest.fixture(scope="session")
def weights() -> Path:
    """The weights, fetched as a person fetches them; kept beside the environment for later runs."""
    return pull(SMOLLM2, Path(sys.prefix) / "netclaw-test-home")


@pytest.fixture(scope="session")
def endpoint(weights: Path) -> Iterator[str]:
    """Where the served model answers."""
    with tempfile.TemporaryDirectory(prefix="nc-", dir="/tmp") as folder:
        server = LocalServer(
            model_file=weights,
            port_file=Path(folder) / "port",
            alias=SMOLLM2.name,
            context_tokens=CONTEXT_TOKENS,
        )
        server.check()
        process = subprocess.Popen(server.argv(parent_pid=os.getpid()), cwd=ROOT)
        try:
            await_port(server.port_file)
            found = server.endpoint()
            assert found is not None
            yield found
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        assert not server.port_file.exists()


@pytest.fixture
async def model(endpoint: str) -> AsyncIterator[ModelClient]:
    """A client of the served model, as a session makes it."""
    settings = ModelSettings(
        provider="local",
        provider_type=ProviderType.LOCAL,
        endpoint=endpoint,
        model_id=SMOLLM2.name,
        context_window=CONTEXT_TOKENS,
    )
    async with ModelConnections() as connections:
        yield open_client(settings, connections)
