"""A scripted supervisor, a fake model and sessions that run on this test's own loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from netclaw.core.exit_codes import ExitCode
from netclaw.core.settings import ModelSettings, ProviderType, SessionSettings
from netclaw.ports.memory import MemoryPort
from netclaw.session_proc.main import serve
from netclaw.session_proc.no_memory import NoMemory
from netclaw.session_proc.tool_setup import make_tools
from netclaw.wire.journal_codec import encode_settings
from netclaw.wire.v1.session_host_pb2 import Welcome
from tests.fakes.model import FakeModel
from tests.session_proc.host import ScriptedHost, scripted_host
from tests.session_proc.parents import Supervisor
from tests.session_proc.tools import ScriptedTools

Start = Callable[[], "asyncio.Task[ExitCode]"]


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    """A fake provider."""
    async with FakeModel() as fake:
        yield fake


def model_settings(url: str, **changes: object) -> ModelSettings:
    """A model at this endpoint."""
    return ModelSettings(
        provider="fake",
        provider_type=ProviderType.OPENAI_COMPATIBLE,
        endpoint=url,
        model_id="fake-model",
        **changes,  # type: ignore[arg-type]
    )


@pytest.fixture
def settings(model: FakeModel) -> SessionSettings:
    """Settings with the fake as main model."""
    return SessionSettings(main_model=model_settings(model.url))


@pytest.fixture
async def host(short_tmp: Path, settings: SessionSettings) -> AsyncIterator[ScriptedHost]:
    """The supervisor of one session."""
    async with scripted_host(short_tmp, settings) as running:
        yield running


@pytest.fixture
def tools() -> ScriptedTools:
    """Tools that do what their arguments say."""
    return ScriptedTools()


@pytest.fixture
def memory() -> MemoryPort:
    """Keeps nothing."""
    return NoMemory()


@pytest.fixture
async def start(
    host: ScriptedHost, tools: ScriptedTools, memory: MemoryPort
) -> AsyncIterator[Start]:
    """Starts the session on this loop; stopped at the end of the test."""
    running: list[asyncio.Task[ExitCode]] = []

    def begin() -> asyncio.Task[ExitCode]:
        task = asyncio.create_task(serve(host.bootstrap(), tools=tools, memory=memory))
        running.append(task)
        return task

    yield begin
    host.shut()
    async with asyncio.timeout(10):
        await asyncio.gather(*running)


@pytest.fixture
def supervisor(host: ScriptedHost) -> Supervisor:
    """The supervisor of a session that may have runs."""
    return Supervisor(host)


@pytest.fixture
async def native(host: ScriptedHost) -> AsyncIterator[Start]:
    """Starts the session with netclaw's own tools."""
    running: list[asyncio.Task[ExitCode]] = []

    def begin() -> asyncio.Task[ExitCode]:
        tools = make_tools(Welcome(settings=encode_settings(host.settings)))
        task = asyncio.create_task(serve(host.bootstrap(), tools=tools))
        running.append(task)
        return task

    yield begin
    host.shut()
    async with asyncio.timeout(10):
        await asyncio.gather(*running)
