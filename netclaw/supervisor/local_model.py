"""Keeps the embedded model's server running beside the daemon (decision 75).

The port is chosen once for each run of the daemon, so that a session process that was told of it
can go on using it when the server was restarted. While the server still loads, a model call meets
a refused connection, which its client tries again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from netclaw.core.errors import NoModelError
from netclaw.core.settings import ModelSettings, ProviderType, SessionSettings
from netclaw.linux.pidfd import WatchedProcess
from netclaw.models.local import ENGINE, LocalServer, at_endpoint
from netclaw.models.local_server import ServerExit
from netclaw.observe.plain_file import shorten_file
from netclaw.supervisor.settings import Settings
from netclaw.supervisor.spawn.exec_start import start_program
from netclaw.supervisor.spawn.local_spawner import LocalSpawner
from netclaw.supervisor.spawn.relapses import Relapses

_log = logging.getLogger(__name__)


def _unusable(server: LocalServer, status: int) -> NoModelError | None:
    """Why it makes no sense to start the server again, if it does not."""
    if status == ServerExit.UNUSABLE_MODEL:
        return NoModelError(
            f"The file {server.model_file} cannot be served as a local model.",
            fix="Name a GGUF model; logs/local-model.log has the engine's reasons. Then restart.",
        )
    if status == ServerExit.NO_ENGINE:
        return NoModelError(
            "The engine for local models cannot be loaded.",
            fix=f"Install the package {ENGINE} into netclaw's Python environment, then restart.",
        )
    return None


class LocalModelKeeper:
    """Runs one server for the local model that a role names, as a child of the supervisor."""

    def __init__(self, server: LocalServer, spawner: LocalSpawner, *, output: Path) -> None:
        """Raises `NoModelError` when the server could never start."""
        server.check()
        self._server = server
        self._spawner = spawner
        self._output = output
        self._process: WatchedProcess | None = None
        self.on_unusable: Callable[[NoModelError], None] = lambda _: None
        """Told once, when the server ended for a reason that another start cannot mend."""
        self._keeper = asyncio.create_task(self._keep())
        self._keeper.add_done_callback(_report)

    @property
    def endpoint(self) -> str:
        """Where the model answers, or will once it has loaded."""
        return f"http://127.0.0.1:{self._server.port}/v1"

    @property
    def pid(self) -> int:
        """The server's process, or 0 between two of them."""
        process = self._process
        return process.pid if process is not None and process.is_alive else 0

    def resolve(self, settings: SessionSettings) -> SessionSettings:
        """The same settings with the endpoint of every local model filled in."""
        return replace(
            settings,
            main_model=self._at(settings.main_model),
            fallback_model=self._at(settings.fallback_model),
            compaction_model=self._at(settings.compaction_model),
        )

    async def close(self) -> None:
        """End the server and wait for it."""
        self._keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._keeper
        if self._process is not None:
            self._process.kill()
            await self._process.wait()

    def _at(self, model: ModelSettings | None) -> ModelSettings | None:
        if model is None or model.provider_type is not ProviderType.LOCAL:
            return model
        return at_endpoint(model, self.endpoint)

    async def _keep(self) -> None:
        relapses = Relapses()
        while True:
            self._server.port_file.unlink(missing_ok=True)
            argv = self._server.argv(parent_pid=os.getpid())
            relapses.begin()
            await asyncio.to_thread(shorten_file, self._output)
            self._process = WatchedProcess(start_program(argv, output=str(self._output)))
            self._spawner.recognise(self._process)
            status = await self._process.wait()
            unusable = _unusable(self._server, status)
            if unusable is not None:
                self.on_unusable(unusable)
                return
            delay_s = relapses.delay_s()
            _log.warning("the local model ended with status %d; again in %gs", status, delay_s)
            await asyncio.sleep(delay_s)


def keep_local_model(
    settings: SessionSettings, home: Path, spawner: LocalSpawner
) -> LocalModelKeeper | None:
    """Start what the roles need; None when no role names a local model.

    Raises `NoModelError` when the model file or the engine is missing.
    """
    models = (settings.main_model, settings.fallback_model, settings.compaction_model)
    local = [m for m in models if m is not None and m.provider_type is ProviderType.LOCAL]
    if not local:
        return None
    names = {model.model_id for model in local}
    if len(names) > 1:
        raise NoModelError(
            "Only one local model can be served at a time, and the roles name several.",
            fix="Let every role that uses the local provider name the same model.",
        )
    server = LocalServer(
        model_file=model_file(local[0].model_id, home),
        port_file=home / "run" / "local-model.port",
        port=_free_port(),
        alias=local[0].model_id,
        context_tokens=local[0].context_window,
    )
    return LocalModelKeeper(server, spawner, output=home / "logs" / "local-model.log")


class LocalModel:
    """The embedded model as the daemon's configuration sees it: served, absent or unusable."""

    def __init__(self, keeper: LocalModelKeeper | None, fault: str = "") -> None:
        self._keeper = keeper
        self._fault = fault
        self._on_change: Callable[[], None] = lambda: None
        if keeper is not None:
            keeper.on_unusable = self._degrade

    def when_changed(self, action: Callable[[], None]) -> None:
        """Call `action` when what `apply` does is different from now on."""
        self._on_change = action

    def _degrade(self, error: NoModelError) -> None:
        _log.error("the local model cannot be served: %s", error.sentence)
        self._fault = f"{error.sentence} {error.fix}"
        self._on_change()

    @classmethod
    def start(cls, settings: SessionSettings, home: Path, spawner: LocalSpawner) -> LocalModel:
        """Serve what the roles need; a model that cannot be served degrades the daemon."""
        try:
            return cls(keep_local_model(settings, home, spawner))
        except NoModelError as error:
            _log.error("the local model cannot be served: %s", error.sentence)
            return cls(None, f"{error.sentence} {error.fix}")

    def apply(self, settings: Settings) -> Settings:
        """The same settings with the endpoint filled in, or degraded with the reason."""
        if self._fault:
            session = replace(settings.session, main_model=None)
            return replace(settings, session=session, degraded_reason=self._fault)
        if self._keeper is None:
            return settings
        return replace(settings, session=self._keeper.resolve(settings.session))

    async def close(self) -> None:
        """End the server, if one runs."""
        if self._keeper is not None:
            await self._keeper.close()


def model_file(model_id: str, home: Path) -> Path:
    """The weights a model id means: an absolute path as it is, else the pulled file."""
    if model_id.startswith("/"):
        return Path(model_id)
    found = sorted((home / "models" / model_id).glob("*.gguf"))
    return found[0] if found else home / "models" / model_id / f"{model_id}.gguf"


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (fault := task.exception()) is not None:
        _log.error("the local model is no longer kept running", exc_info=fault)
