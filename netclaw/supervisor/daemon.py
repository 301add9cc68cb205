"""One run of the supervisor: puts its parts together, starts them in order, stops them in order."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from netclaw.adapters.configured import channel_plan
from netclaw.config.home import make_private_folder
from netclaw.config.loaded import LoadedConfig, stamp_of
from netclaw.config.reload import config_changes
from netclaw.core.errors import (
    DrainingError,
    InternalError,
    InvalidArgumentError,
    NetclawError,
)
from netclaw.core.session.drain import CHILD_EXTRA_S
from netclaw.core.supervision import is_start_held
from netclaw.linux.pidfd import WatchedProcess
from netclaw.observe.redact import Redactor
from netclaw.ports.journal import JournalStore
from netclaw.ports.shell_runner import SandboxFacts
from netclaw.ports.spawner import Spawner
from netclaw.supervisor.adapters import Adapters, Ground
from netclaw.supervisor.admin_api import Admin, ReloadOutcome
from netclaw.supervisor.admissions import Admissions
from netclaw.supervisor.attach import Attachments
from netclaw.supervisor.awareness import Awareness
from netclaw.supervisor.callers import OPERATOR, TokenBook
from netclaw.supervisor.child_purge import ChildPurge
from netclaw.supervisor.children import Children
from netclaw.supervisor.consents import Consents
from netclaw.supervisor.envelope import Envelopes
from netclaw.supervisor.gateway_api import Gateway
from netclaw.supervisor.home_guard import HomeGuard
from netclaw.supervisor.job_cleanup import JobCleanup
from netclaw.supervisor.keeper import Keeper
from netclaw.supervisor.lifecycle import STOP_NOTICE, Drain
from netclaw.supervisor.liveness import Liveness
from netclaw.supervisor.local_model import LocalModel
from netclaw.supervisor.manifest import take_manifest
from netclaw.supervisor.router import Router
from netclaw.supervisor.sd_notify import ServiceManager
from netclaw.supervisor.server import Servers
from netclaw.supervisor.services import Services
from netclaw.supervisor.session_desk import SessionDesk
from netclaw.supervisor.session_host import SessionHost
from netclaw.supervisor.settings import LiveSettings, settings_of
from netclaw.supervisor.slot import Hold, SlotState
from netclaw.supervisor.start_gate import StartGate
from netclaw.supervisor.starts import Starter
from netclaw.supervisor.storage_health import StorageHealth
from netclaw.supervisor.tasks import OnFault, Tasks
from netclaw.supervisor.uploads import Uploads
from netclaw.supervisor.upstream_monitor import UpstreamMonitor

_log = logging.getLogger(__name__)

WARM_PATIENCE_S = 2.0
"""How long traffic waits for sessions that were at work before the stop (S0)."""


class Wish(Enum):
    """What a signal, an operator or a fault wants of the daemon."""

    STOP = "stop"
    RESTART = "restart"
    RELOAD = "reload"
    FATAL = "fatal"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonParts:
    """What `main` opened before the daemon could be put together."""

    guard: HomeGuard
    config: LoadedConfig
    store: JournalStore
    spawner: Spawner
    redact: Redactor
    generation: int
    sandbox: SandboxFacts
    local_model: LocalModel
    reload_config: Callable[[], LoadedConfig]
    on_new_config: Callable[[LoadedConfig], None]
    recognise: Callable[[WatchedProcess], None] = lambda _: None
    """Told of every process that is started here beside sessions."""


class Supervisor:
    """The running daemon; implements the operator API's `Daemon`."""

    def __init__(self, parts: DaemonParts) -> None:
        self._parts = parts
        self._config = parts.config
        self._wishes: asyncio.Queue[Wish] = asyncio.Queue()
        self._tasks = Tasks(on_fatal=lambda _fault: self._wishes.put_nowait(Wish.FATAL))
        self._drain: Drain | None = None
        self.ending: Wish | None = None
        """How the run ends, once that is decided; a stop outranks a restart until the exec."""
        self._reloading = asyncio.Lock()
        self._config_problem = ""
        self._is_watching_over = asyncio.Event()
        self._manager = ServiceManager()
        self.when_ending: Callable[[float], None] | None = None
        """Told the budget when the end begins."""
        self._build(parts)

    def _build(self, parts: DaemonParts) -> None:
        settings = parts.local_model.apply(settings_of(parts.config))
        home = parts.guard.home
        self.services = Services(
            home=home.root,
            store=parts.store,
            spawner=parts.spawner,
            tasks=self._tasks,
            settings=LiveSettings(settings),
            health=StorageHealth(parts.store, self._tasks),
            envelopes=Envelopes(home.root),
            consents=Consents(home.grants_file),
            generation=parts.generation,
            sandbox=parts.sandbox,
            redact=parts.redact,
        )
        gate = StartGate(
            places=settings.daemon.max_live_sessions, concurrency=settings.daemon.start_concurrency
        )
        child_gate = StartGate(
            places=settings.daemon.max_live_children, concurrency=settings.daemon.start_concurrency
        )
        self._host = SessionHost(self._tasks)
        starter = Starter(self.services, self._host, str(parts.guard.host_socket))
        self._keeper = Keeper(self.services, gate, child_gate, starter)
        self.router = Router(self.services, gate, self._keeper)
        self._children = Children(self.services, self.router)
        self._sessions = SessionDesk(self.services, self.router)
        self.services.desks = (self._children, self._sessions)
        starter.tell(role_of=self._children.role_of, on_welcome=self._children.on_welcome)
        self._uploads = Uploads()
        self._attachments = Attachments(self.services, self.router)
        admissions = Admissions(self.services, self.router, self._uploads)
        self.tokens = TokenBook()
        ground = Ground.of(self.services, self.tokens, home.socket, parts.recognise)
        self._adapters = Adapters(ground, admissions.channel_of)
        self._awareness = Awareness(self.services, self.router)
        self._monitor = UpstreamMonitor(self.services)
        self._purge = ChildPurge(
            self.services, self.router, self._children, forget=admissions.forget
        )
        self.router.tell(
            on_rest=self._children.on_rest,
            on_committed=(
                self._purge.on_commit,
                self._sessions.letters.on_commit,
                self._adapters.on_commit,
            ),
            on_deleted=self._sessions.letters.on_deleted,
        )
        self.gateway = Gateway(
            self.services, self.router, admissions, self._uploads, self._attachments
        )
        self.gateway.serve_channels(self._adapters)
        self.admin = Admin(
            self.services,
            self.router,
            admissions,
            self.gateway,
            self,
            children=self._children,
            purge=self._purge,
            awareness=self._awareness,
        )
        self._servers = Servers(home.socket, parts.guard.host_socket)
        parts.local_model.when_changed(self._apply_settings)
        self._liveness = Liveness(
            self.router.live_sessions,
            lambda: self.services.settings.current.session.limits,
        )

    # Running ------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """`running` or `draining`."""
        return "draining" if self._drain is not None else "running"

    @property
    def config_problem(self) -> str:
        """Why the configuration as it was edited is not in force; empty if it is."""
        return self._config_problem

    def wish(self, wish: Wish) -> None:
        """Ask for something; safe in a signal handler of the loop, acts later."""
        if self.ending is None:
            self._wishes.put_nowait(wish)
        elif wish is Wish.STOP and self.ending is Wish.RESTART:
            self.ending = Wish.STOP
            self.gateway.stop_notice = STOP_NOTICE
            self._manager.tell("STOPPING=1")
        elif wish is Wish.STOP and self._drain is not None:
            self._drain.hurry()

    async def request_stop(self, *, is_restart: bool) -> None:
        """Begin a graceful stop or an in-place restart.

        A restart is refused with `InvalidArgumentError` if the next generation could not read
        the configuration: a running daemon is not given up for one that cannot start.
        """
        if is_restart:
            await asyncio.to_thread(self._parts.reload_config)
        self.wish(Wish.RESTART if is_restart else Wish.STOP)

    async def start(self) -> None:
        """Serve, warm up, take up what waits, say that we are ready."""
        self.services.store.set_listener(self.router.on_commits)
        self.services.store.set_signal_listener(self._awareness.on_signals)
        self._tasks.start(
            self.services.store.watch(), name="journal store", on_fault=OnFault.STOP_DAEMON
        )
        self.services.health.when_recovered(self._look_after_all)
        await self._servers.serve_host(self._host)
        await self._hold_deadly_starts()
        await self._awareness.sweep()
        await self._warm_up()
        token = self.tokens.issue(OPERATOR)
        self._parts.guard.write_token(token)
        await self._servers.serve_public(self.gateway, self.admin, self.tokens)
        self.router.look_after(await self.services.store.runnable_sessions())
        self._awareness.wakes.begin()
        self._tasks.start(self._liveness.run(), name="liveness", on_fault=OnFault.STOP_DAEMON)
        self._tasks.start(self._manager.keep_watchdog_quiet(), name="watchdog")
        self._tasks.start(self._watch_configuration(), name="configuration watch")
        # Its first step comes behind the first step of the watch, which sets the watch up.
        self._tasks.start(self._catch_up_on_edits(), name="edits during the start")
        # Migrated, or complained of in the log, before anybody is asked for a consent it holds.
        self._tasks.start(self.services.consents.stored.read(), name="first look at the grants")
        self._tasks.start(JobCleanup(self.services).run(), name="clean-up of jobs")
        self._tasks.start(self._purge.run(), name="purge of child runs")
        self._sessions.letters.look()
        self._tasks.start(self._awareness.keep_pruned(), name="pruning of signals")
        self._tasks.start(self._monitor.run(), name="monitor of transcripts")
        await self._adapters.apply(channel_plan(self._config.model))
        self._parts.guard.write_pid()
        self._manager.tell("READY=1", f"MAINPID={self.services.pid}")
        _log.info(
            "netclawd is ready: home %s, generation %d",
            self.services.home,
            self.services.generation,
        )

    async def serve(self) -> Wish:
        """Run until told to end; returns STOP, RESTART or FATAL once everything is ended."""
        self.ending = wish = await self._until_end_is_wished()
        if wish is Wish.RESTART:
            usec = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            self._manager.tell("RELOADING=1", f"MONOTONIC_USEC={usec}")
        else:
            self._manager.tell("STOPPING=1")
        limit_s = self.services.settings.current.daemon.shutdown_s + self._extra_s(wish)
        if self.when_ending is not None:
            self.when_ending(limit_s)
        try:
            async with asyncio.timeout(limit_s):
                await self._end(is_restart=wish is Wish.RESTART)
        except TimeoutError:
            _log.error("the stop took longer than %.0f s; what is left is killed", limit_s)
        return self.ending

    def _extra_s(self, wish: Wish) -> float:
        """What a restart has more of every budget while child runs are at work (decision 12)."""
        is_longer = wish is Wish.RESTART and self._children.is_any_at_work()
        return CHILD_EXTRA_S if is_longer else 0.0

    async def _until_end_is_wished(self) -> Wish:
        while True:
            wish = await self._wishes.get()
            if wish is not Wish.RELOAD:
                return Wish.STOP if wish is Wish.RESTART and self._is_stop_wished() else wish
            try:
                await self.reload()
            except NetclawError as error:
                _log.warning("the configuration was not reloaded: %s", error.sentence)

    def _is_stop_wished(self) -> bool:
        """Whether a stop waits behind the wish at hand; no other wish matters any more."""
        waiting = [self._wishes.get_nowait() for _ in range(self._wishes.qsize())]
        return Wish.STOP in waiting

    async def _watch_configuration(self) -> None:
        """An edit of netclaw.json takes effect by itself (S0 "Recovery and restart")."""
        make_private_folder(self._parts.guard.home.config_dir)  # to see the first file made in it
        async for _ in config_changes(self._parts.guard.home, self._is_watching_over):
            self.wish(Wish.RELOAD)

    async def _catch_up_on_edits(self) -> None:
        """See an edit made after the files were read and before the watch stood."""
        if stamp_of(self._parts.guard.home) != self._config.stamp:
            self.wish(Wish.RELOAD)

    async def _end(self, *, is_restart: bool) -> None:
        self._is_watching_over.set()
        self._monitor.stop()
        extra_s = self._extra_s(Wish.RESTART if is_restart else Wish.STOP)
        self._drain = Drain(
            self.services,
            self.router,
            self._keeper,
            self.gateway,
            self._attachments,
            self._awareness,
            self._servers,
            self._adapters,
            extra_s=extra_s,
        )
        await self._drain.run(is_restart=is_restart)
        await self._parts.local_model.close()
        await self._tasks.cancel_all()
        self.services.consents.stored.close()
        await self.services.store.close()

    async def reload(self) -> ReloadOutcome:
        """Read the configuration again; raises `InvalidArgumentError`, nothing changed."""
        async with self._reloading:
            try:
                outcome = await self._reload()
            except InvalidArgumentError as error:
                self._config_problem = error.sentence
                raise
            self._config_problem = ""
            return outcome

    async def _reload(self) -> ReloadOutcome:
        config = await asyncio.to_thread(self._parts.reload_config)
        if self._drain is not None:
            raise DrainingError("The daemon is stopping; the change is read at the next start.")
        if config.is_equal(self._config):
            return ReloadOutcome(is_changed=False, is_restarting=False)
        needs_restart = config.needs_restart(self._config)
        self._config = config
        if needs_restart:
            self.wish(Wish.RESTART)
        else:
            self._apply_settings()
            self._parts.on_new_config(config)
            await self._adapters.apply(channel_plan(self._config.model))
        return ReloadOutcome(is_changed=True, is_restarting=needs_restart)

    def _apply_settings(self) -> None:
        """New sessions run by the configuration and the local model as they are now."""
        old = self.services.settings.current
        new = self._parts.local_model.apply(settings_of(self._config))
        self.services.settings.current = new
        if (new.credentials, new.redactions) != (old.credentials, old.redactions):
            for live in self.router.live_sessions():
                live.renew_credentials(new.credentials, new.redactions)

    # Start-up -----------------------------------------------------------------------------

    async def _hold_deadly_starts(self) -> None:
        """Do not start what killed us twice; say so (protocol "Recovery, exactly")."""
        for session_id, deaths in await self.services.store.held_starts():
            if is_start_held(deaths):
                _log.error(
                    "session %s is held: the supervisor died %d times in a row during its start",
                    session_id,
                    deaths,
                )
                self.router.hold(session_id, Hold.START_KILLS_DAEMON)

    async def _warm_up(self) -> None:
        """Start what was at work before the stop, ahead of normal traffic."""
        warm = take_manifest(self.services.home / "run")
        if not warm:
            return
        slots = self.router.warm(warm)
        ready = [
            self._tasks.start(slot.until_state(SlotState.LIVE), name="warm-up") for slot in slots
        ]
        _, late = await asyncio.wait(ready, timeout=WARM_PATIENCE_S)
        for task in late:
            task.cancel()

    def _look_after_all(self) -> None:
        self._tasks.start(self._take_up(), name="take up runnable work")

    async def _take_up(self) -> None:
        self.router.look_after(await self.services.store.runnable_sessions())


def fault_of(wish: Wish | None) -> NetclawError | None:
    """The error to end with; None for an end that was asked for."""
    if wish is Wish.FATAL:
        return InternalError("A part of the daemon failed; see the log.")
    return None
