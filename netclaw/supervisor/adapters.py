"""Keeps one process per enabled channel: starts it, starts it again, tells it to end.

An adapter is a client like others, with a token that lets it speak for its own channel. What goes
wrong with one, a bad token or a crash, ends or delays that one alone. Nothing here runs, and no
process exists, while no channel is enabled.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from netclaw.adapters.channel_config import ChannelConfig, ChannelPlan
from netclaw.adapters.exits import AdapterExit
from netclaw.adapters.names import is_name, source_kind_of
from netclaw.adapters.reconnects import Reconnects
from netclaw.adapters.setup import to_setup
from netclaw.core.authority import Audience, Authenticity, Principal, SourceKind
from netclaw.core.errors import DeniedByPolicyError
from netclaw.linux.pidfd import WatchedProcess
from netclaw.observe.plain_file import shorten_file
from netclaw.ports.journal import Commit
from netclaw.supervisor.callers import Caller, TokenBook
from netclaw.supervisor.channel_news import News
from netclaw.supervisor.channel_questions import Questions
from netclaw.supervisor.rpc import RpcStream
from netclaw.supervisor.services import Services
from netclaw.supervisor.spawn.exec_start import start_helper
from netclaw.supervisor.tasks import Tasks
from netclaw.wire.v1.admin_pb2 import AdapterRow
from netclaw.wire.v1.gateway_pb2 import ChannelHit, ChannelReport, ChannelSetup

_log = logging.getLogger(__name__)

FIRST_DELAY_S = 0.5
CHANGE_BUDGET_S = 5.0
"""What an adapter gets to deliver what is due when its section changed."""
END_GRACE_S = 1.0
"""Beyond its budget, before it is killed."""
TICK_S = 10.0
SILENT_TICKS = 6
"""An adapter that said nothing for so many ticks hangs. They are counted, so that a daemon that was
itself held up does not take its own silence for another's."""
DISABLED = "disabled"
ENDS = ("failed", "stopping")
"""States in which no other process follows."""
UNKNOWN_NAME = "This is no name of a channel: lower-case letters, digits and dashes, 32 at most."


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What all adapters of a daemon need."""

    home: Path
    socket: Path
    pid: int
    tasks: Tasks
    tokens: TokenBook
    recognise: Callable[[WatchedProcess], None]

    @classmethod
    def of(
        cls,
        services: Services,
        tokens: TokenBook,
        socket: Path,
        recognise: Callable[[WatchedProcess], None],
    ) -> Self:
        """The ground of a daemon."""
        return cls(
            home=services.home,
            socket=socket,
            pid=services.pid,
            tasks=services.tasks,
            tokens=tokens,
            recognise=recognise,
        )


class Adapter:
    """One enabled channel and the process that serves it, if one does now."""

    def __init__(self, config: ChannelConfig, ground: Ground, *, log_level: str = "") -> None:
        """`log_level` is a value of `Logging.LogLevel.Default`, until `set_log_level`."""
        self.config = config
        self._log_level = self._told_level = log_level
        self.source = source_kind_of(config.name)
        self._ground = ground
        self._process: WatchedProcess | None = None
        self._state = "starting"
        self._report = ChannelReport()
        self._restarts = 0
        self._is_ending = False
        self._heard = 0
        self._news: News | None = None
        self._questions = Questions()
        self._keeper = ground.tasks.start(self._keep(), name=f"adapter {config.name}")

    @property
    def name(self) -> str:
        """The channel."""
        return self.config.name

    @property
    def _is_alive(self) -> bool:
        return self._process is not None and self._process.is_alive

    def setup(self) -> ChannelSetup:
        """The section for its process."""
        self._told_level = self._log_level
        return to_setup(
            self.config,
            staging=self._ground.home / "run" / f"adapter-{self.name}",
            log_level=self._log_level,
        )

    def set_log_level(self, level: str) -> None:
        """Have its process log so much from now on."""
        self._log_level = level
        if self._news is not None and level != self._told_level:
            self._told_level = level
            self._news.take_log_level(level)

    def row(self) -> AdapterRow:
        """Itself for `status`; what a process that died had reported counts no longer."""
        process = self._process
        is_dead = process is not None and not process.is_alive
        return AdapterRow(
            channel=self.name,
            pid=process.pid if process is not None and process.is_alive else 0,
            state="backoff" if is_dead and self._state not in ENDS else self._state,
            account=self._report.account,
            scope=self._report.scope,
            last_failure=self._report.last_failure,
            last_failure_at_ms=self._report.last_failure_at_ms,
            restarts=self._restarts,
            counters=self._report.counters,
        )

    def take(self, commit: Commit, *, is_of_channel: bool) -> None:
        """A session of this channel went on, or some session has replies for it."""
        if self._news is None:
            return
        if self.source in commit.replies_to:
            self._news.take_replies()
        if is_of_channel:
            self._news.take(commit)

    def take_replies(self) -> None:
        """Something was put into the outbox without a commit of a session."""
        if self._news is not None:
            self._news.take_replies()

    async def find(self, what: str, text: str) -> Sequence[ChannelHit] | None:
        """Ask its platform for `users` or `places` of a name; None if there is no answer."""
        if self._news is None:
            return None
        return await self._questions.ask(self._news, what, text)

    async def converse(self, stream: RpcStream) -> None:
        """Serve the stream of its process: reports in, news out."""
        if self._news is not None:
            self._news.close()
        self._news = news = News(self.source)
        self.set_log_level(self._log_level)  # it may have changed since it asked for its section
        reading = self._ground.tasks.start(
            self._read(stream, news), name=f"reports of adapter {self.name}"
        )
        try:
            async for piece in news:
                await stream.write(piece)
        finally:
            reading.cancel()
            if self._news is news:
                self._news = None

    async def stop(self, *, budget_s: float, notice: str) -> None:
        """Let the process deliver what is due and end; kill it when the budget is used."""
        self._is_ending = True
        if not self._is_alive or self._process is None:
            await self._end_keeper()
            return
        process = self._process
        if self._news is not None:
            self._state = "stopping"
            self._news.drain(budget_s=budget_s, notice=notice)
        else:
            process.send(signal.SIGTERM)  # it still starts, and has claimed nothing
        try:
            async with asyncio.timeout(budget_s + END_GRACE_S):
                await process.wait()
        except TimeoutError:
            _log.warning("the adapter of %s did not end in time; it is killed", self.name)
        finally:
            await self._end_keeper()

    def kill(self) -> None:
        """Wait for nothing."""
        if self._process is not None:
            self._process.kill()

    async def _end_keeper(self) -> None:
        self._keeper.cancel()
        await asyncio.wait((self._keeper,))
        if self._process is not None:
            self._process.kill()
            await self._process.wait()

    async def _read(self, stream: RpcStream, news: News) -> None:
        try:
            while (report := await stream.read()) is not None:
                self._questions.take(report.answers)
                self._report = report
                self._heard += 1
                if self._state != "stopping":
                    self._state = report.state
        finally:
            self._questions.drop()
            news.close()

    # Its process ----------------------------------------------------------------------------

    async def _keep(self) -> None:
        delays = Reconnects(first_s=FIRST_DELAY_S)
        while True:
            delays.begin()
            status = await self._live_once()
            if self._is_ending:
                return
            if status == AdapterExit.FATAL:
                self._state = "failed"
                _log.error("channel %s cannot work: %s", self.name, self._why(status))
                return
            self._state = "backoff"
            delay_s = delays.delay_s(self._report.retry_after_ms / 1000)
            _log.warning("channel %s: %s; again in %.1f s", self.name, self._why(status), delay_s)
            await asyncio.sleep(delay_s)
            self._restarts += 1

    def _why(self, status: int) -> str:
        return self._report.last_failure or f"its process ended with status {status}"

    async def _live_once(self) -> int:
        """One life of the process; its exit status."""
        token = self._ground.tokens.issue(caller_of(self.name))
        watching: asyncio.Task[None] | None = None
        try:
            self._process = await self._start(token)
            watching = self._ground.tasks.start(
                self._kill_if_silent(self._process), name=f"liveness of adapter {self.name}"
            )
            return await self._process.wait()
        except OSError as fault:
            _log.warning("the adapter of %s cannot be started: %s", self.name, fault.strerror)
            return AdapterExit.TRANSIENT
        finally:
            self._ground.tokens.revoke(token)
            if watching is not None:
                watching.cancel()

    async def _kill_if_silent(self, process: WatchedProcess) -> None:
        """A process that hangs would say nothing for ever; a new one may do better."""
        silent = 0
        while silent < SILENT_TICKS:
            heard = self._heard
            await asyncio.sleep(TICK_S)
            silent = silent + 1 if heard == self._heard else 0
        _log.error("the adapter of %s hangs; it is killed", self.name)
        process.kill()

    async def _start(self, token: str) -> WatchedProcess:
        log = self._ground.home / "logs" / f"adapter-{self.name}.log"
        await asyncio.to_thread(shorten_file, log)
        self._state = "starting"
        self._report = ChannelReport(
            last_failure=self._report.last_failure,
            last_failure_at_ms=self._report.last_failure_at_ms,
        )
        arguments = [
            *("-m", "netclaw.adapters", self.name),
            *("--parent", str(self._ground.pid)),
            *("--socket", str(self._ground.socket)),
            *("--log", str(log)),
        ]
        pid = start_helper(arguments, secret=token.encode("ascii"), output=str(log))
        process = WatchedProcess(pid)
        self._ground.recognise(process)
        return process


class Adapters:
    """The adapters of one daemon."""

    def __init__(self, ground: Ground, channel_of: Callable[[str], SourceKind | None]) -> None:
        """`channel_of` tells a session's channel, or None if that is not at hand."""
        self._ground = ground
        self._channel_of = channel_of
        self._adapters: dict[str, Adapter] = {}
        self._idle: dict[str, AdapterRow] = {}
        """Channels without an adapter: disabled ones, and names that are none."""
        self._log_level = ""
        self._changing = asyncio.Lock()
        self._is_draining = False

    def rows(self) -> list[AdapterRow]:
        """The channels that are configured for `status`, by name."""
        rows = {name: adapter.row() for name, adapter in self._adapters.items()} | self._idle
        return [rows[name] for name in sorted(rows)]

    async def apply(self, plan: ChannelPlan) -> None:
        """Run what is enabled now: only adapters whose section differs are touched."""
        channels = plan.enabled
        async with self._changing:
            self._log_level = plan.log_level
            old = [
                adapter
                for name, adapter in self._adapters.items()
                if channels.get(name) != adapter.config
            ]
            await asyncio.gather(
                *(adapter.stop(budget_s=CHANGE_BUDGET_S, notice="") for adapter in old)
            )
            for adapter in old:
                del self._adapters[adapter.name]
            self._idle = {name: AdapterRow(channel=name, state=DISABLED) for name in plan.disabled}
            self._idle |= {
                name: AdapterRow(channel=name, state="failed", last_failure=UNKNOWN_NAME)
                for name in channels
                if not is_name(name)
            }
            for adapter in self._adapters.values():
                adapter.set_log_level(plan.log_level)
            for name, config in channels.items():
                if name not in self._adapters and name not in self._idle:
                    self._begin(config)

    def _begin(self, config: ChannelConfig) -> None:
        if not self._is_draining:
            self._adapters[config.name] = Adapter(config, self._ground, log_level=self._log_level)

    async def drain(self, *, budget_s: float, notice: str) -> None:
        """End all of them, each after it delivered what is due."""
        self._is_draining = True
        async with self._changing:
            await asyncio.gather(
                *(
                    adapter.stop(budget_s=budget_s, notice=notice)
                    for adapter in self._adapters.values()
                )
            )

    def kill(self) -> None:
        """End all of them at once."""
        for adapter in self._adapters.values():
            adapter.kill()

    def on_commit(self, commit: Commit) -> None:
        """Tell the channel of a session, or all of them if it is not at hand which one that is.

        Its replies may be for another one, which is told of them alone.
        """
        if not self._adapters:
            return
        channel = self._channel_of(commit.session_id)
        for adapter in self._adapters.values():
            is_of_channel = channel is None or channel == adapter.source
            try:
                adapter.take(commit, is_of_channel=is_of_channel)
            except Exception:  # noqa: BLE001 - news are hints; no session may suffer for one
                _log.exception("the adapter of %s was not told of a commit", adapter.name)

    def named(self, name: str) -> Adapter | None:
        """The adapter of an enabled channel."""
        return self._adapters.get(name)

    def of(self, caller: Caller) -> Adapter:
        """The adapter that calls; raises `DeniedByPolicyError` for anybody else."""
        adapter = self._adapters.get(caller.adapter)
        if adapter is None:
            raise DeniedByPolicyError("Only the adapter of an enabled channel may ask this.")
        return adapter


def caller_of(name: str) -> Caller:
    """What an adapter may claim: people of its own channel, as surely as a platform knows them."""
    return Caller(
        name=f"adapter {name}",
        max_principal=Principal.TRUSTED,
        max_audience=Audience.PERSONAL,  # the posture and the place narrow it
        max_authenticity=Authenticity.VERIFIED,
        channels=frozenset({source_kind_of(name)}),
        adapter=name,
    )
