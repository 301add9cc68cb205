"""Helper processes that die: started again ever later, or not at all where that cannot help."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.errors import NoModelError
from netclaw.core.settings import ModelSettings, ProviderType
from netclaw.models import local
from netclaw.models.local import LocalServer
from netclaw.supervisor.local_model import LocalModel, LocalModelKeeper
from netclaw.supervisor.settings import settings_of
from netclaw.supervisor.spawn.local_spawner import LocalSpawner
from netclaw.supervisor.spawn.relapses import BACKOFF_S, HEALTHY_S, Relapses
from netclaw.testing.clock import FakeClock
from tests.supervisor.world import InProcess

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
async def spawner() -> AsyncIterator[LocalSpawner]:
    """Starts real processes, without a zygote."""
    made = LocalSpawner(use_zygote=False)
    yield made
    await made.close()


class Exits(LocalServer):
    """A server that ends with a status, the way the real one would."""

    __slots__ = ()
    status = 0

    def argv(self, *, parent_pid: int = 0) -> list[str]:
        """A process that ends at once."""
        del parent_pid
        return [sys.executable, "-I", "-c", f"raise SystemExit({self.status})"]


class NoEngine(Exits):
    """Without the engine."""

    __slots__ = ()
    status = 3


@pytest.mark.requirement("supervisor.local-model")
@pytest.mark.parametrize(("kind", "reason"), [(LocalServer, "weights.gguf"), (NoEngine, "engine")])
async def test_a_model_that_cannot_be_served_degrades_the_daemon_with_its_reason(
    world: InProcess,
    spawner: LocalSpawner,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[LocalServer],
    reason: str,
) -> None:
    monkeypatch.setattr(local, "has_engine", lambda: True)
    weights = tmp_path / "weights.gguf"
    weights.write_bytes(b"no weights at all")
    server = kind(model_file=weights, port_file=tmp_path / "port", alias="tiny", port=1)
    keeper = LocalModelKeeper(server, spawner, output=tmp_path / "log")
    model = LocalModel(keeper)
    main = ModelSettings(
        provider="local", provider_type=ProviderType.LOCAL, model_id="tiny", endpoint=""
    )
    session = replace(world.config.session, main_model=main)
    world.supervisor._config = replace(world.config, session=session, degraded_reason="")
    world.supervisor._parts = replace(world.supervisor._parts, local_model=model)
    changed = asyncio.Event()

    def apply() -> None:
        world.supervisor._apply_settings()
        changed.set()

    model.when_changed(apply)
    before = model.apply(settings_of(world.supervisor._config))
    assert before.session.main_model is not None
    assert before.session.main_model.endpoint == keeper.endpoint
    await asyncio.wait_for(changed.wait(), 30)
    current = world.supervisor.services.settings.current
    assert current.session.main_model is None
    assert reason in current.degraded_reason
    assert "restart" in current.degraded_reason
    await asyncio.wait_for(keeper._keeper, 15)
    assert keeper.pid == 0


@pytest.mark.requirement("supervisor.local-model")
async def test_a_server_that_cannot_start_is_refused_at_once(
    spawner: LocalSpawner, tmp_path: Path
) -> None:
    server = LocalServer(model_file=tmp_path / "none", port_file=tmp_path / "port", alias="x")
    with pytest.raises(NoModelError):
        LocalModelKeeper(server, spawner, output=tmp_path / "log")


@pytest.mark.requirement("supervisor.relapses")
def test_the_wait_grows_with_deaths_in_a_row_and_a_healthy_minute_ends_the_row() -> None:
    clock = FakeClock()
    relapses = Relapses(clock.monotonic_s)
    waits = [relapses.delay_s() for _ in range(len(BACKOFF_S) + 1)]
    assert waits == [*BACKOFF_S, BACKOFF_S[-1]]
    relapses.begin()
    clock.advance(HEALTHY_S - 1)
    assert relapses.delay_s() == BACKOFF_S[-1]
    relapses.begin()
    clock.advance(HEALTHY_S)
    assert relapses.delay_s() == BACKOFF_S[0]
    relapses.begin()
    assert relapses.delay_s() == BACKOFF_S[1]


@pytest.mark.requirement("observe.bounded-plain")
async def test_a_start_of_the_server_cuts_a_large_log(
    spawner: LocalSpawner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "has_engine", lambda: True)
    weights = tmp_path / "weights.gguf"
    weights.write_bytes(b"no weights at all")
    log = tmp_path / "log"
    log.write_bytes(b"a line\n" * 2_000_000)
    server = NoEngine(model_file=weights, port_file=tmp_path / "port", alias="tiny", port=1)
    keeper = LocalModelKeeper(server, spawner, output=log)
    await asyncio.wait_for(keeper._keeper, 15)
    assert log.stat().st_size < 1_000_000
