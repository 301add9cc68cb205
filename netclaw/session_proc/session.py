"""One session alive: its parts, made from the Welcome, and where each frame goes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import DispatchToken, JobId, RunId, SessionId
from netclaw.core.redaction import Redactor, StreamRedactor, shown_arguments
from netclaw.core.run_settings import run_settings
from netclaw.core.session import sentences
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.commands import (
    BeginOutput,
    ChangeInterest,
    Compact,
    Drain,
    Passivate,
    Recover,
    SessionCommand,
    StopTurn,
)
from netclaw.core.session.decide import decide
from netclaw.core.session.effects import Decision
from netclaw.core.session.events import Recorded
from netclaw.core.session.job_commands import CancelJob
from netclaw.core.session.outputs import OutputFilter, TextDelta
from netclaw.core.session.state import Runtime, SessionState
from netclaw.core.settings import SessionSettings, SessionStorage
from netclaw.ports.memory import MemoryPort
from netclaw.ports.tool import ToolRunner
from netclaw.ports.tool_servers import ToolServers
from netclaw.session_proc.actor import Actor
from netclaw.session_proc.asks import Asks
from netclaw.session_proc.background_jobs import BackgroundJobs
from netclaw.session_proc.child_reporter import ChildReporter
from netclaw.session_proc.children import Children
from netclaw.session_proc.consent_link import ConsentLink
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.frames import FrameSink
from netclaw.session_proc.ids import new_id
from netclaw.session_proc.judging import CallJudge
from netclaw.session_proc.log_lines import LogLines, Redact
from netclaw.session_proc.model_clients import ModelClients
from netclaw.session_proc.model_requests import ModelRequests
from netclaw.session_proc.no_memory import NoMemory
from netclaw.session_proc.outbound import Outbound
from netclaw.session_proc.performer import Performer
from netclaw.session_proc.rechecks import Rechecks
from netclaw.session_proc.recovery import recover_state
from netclaw.session_proc.rule_timers import RuleTimers
from netclaw.session_proc.run_files import RunFiles
from netclaw.session_proc.run_freezing import RunFreezing
from netclaw.session_proc.session_log import SessionLog
from netclaw.session_proc.sidecar_models import SidecarModels
from netclaw.session_proc.sidecars import Sidecars
from netclaw.session_proc.snapshots import Snapshots
from netclaw.session_proc.tool_context import ToolContexts
from netclaw.session_proc.tool_launcher import ToolLauncher
from netclaw.session_proc.tool_trees import AnnouncedTrees
from netclaw.session_proc.turn_driver import NO_MODEL, TurnDriver
from netclaw.tools.git_inspection import GitInspection
from netclaw.wire.children import COMMAND_CANCEL, COMMAND_CLOSE_GATE
from netclaw.wire.journal_codec import decode_settings
from netclaw.wire.notices import change_from_proto, notice_from_proto
from netclaw.wire.v1.session_host_pb2 import HostCommand, ToSession, Welcome

_log = logging.getLogger(__name__)


def wall_clock_ms() -> int:
    """Milliseconds since the epoch, for what is recorded; lengths are measured elsewhere."""
    return time.time_ns() // 1_000_000


class Session:
    """The parts of one session process and how frames reach them."""

    def __init__(
        self,
        *,
        actor: Actor,
        driver: TurnDriver,
        trees: AnnouncedTrees,
        asks: Asks,
        timers: RuleTimers,
        clients: ModelClients,
        servers: ToolServers | None,
        children: Children,
        reporter: ChildReporter | None,
    ) -> None:
        self._actor = actor
        self._driver = driver
        self._timers = timers
        self._clients = clients
        self._servers = servers
        self._children = children
        self._reporter = reporter
        self._handlers: dict[str, Callable[[ToSession], None]] = {
            "committed": lambda frame: actor.committed(frame.committed),
            "refused": lambda frame: actor.refused(frame.refused),
            "append_failed": lambda frame: actor.failed(frame.append_failed),
            "tool_tree_ack": lambda frame: trees.acknowledge(frame.tool_tree_ack.call_id),
            "answer": lambda frame: asks.answered(frame.answer),
            "interest": lambda frame: self._change_interest(OutputFilter(frame.interest.filter)),
            "command": lambda frame: self._command(frame.command),
            "child_report": lambda frame: children.reported(frame.child_report),
            "credentials": lambda frame: clients.renew(frame.credentials.credentials),
            "notice": lambda frame: actor.notice(change_from_proto(frame.notice)),
        }

    def begin(self) -> None:
        """Heal what the last process left, become Ready, take up what is due."""
        if self._reporter is not None:
            self._reporter.begin()
        else:
            self._actor.post(Recover())

    def deliver(self, frame: ToSession) -> None:
        """Hand one frame to the part it is for."""
        body = frame.WhichOneof("body")
        handler = self._handlers.get(body or "")
        if handler is None:
            # Additive protocol: a newer supervisor may say what we need not understand.
            _log.warning("a frame of kind %s was ignored", body)
        else:
            handler(frame)

    async def close(self) -> None:
        """Let go of timers, connections and tool servers."""
        self._timers.cancel_all()
        await self._clients.close()
        if self._servers is not None:
            await self._servers.close()

    def _change_interest(self, interest: OutputFilter) -> None:
        # The rules first: what the gates then ask for is judged by the new interest.
        self._actor.post(ChangeInterest(interest=interest))
        self._driver.change_interest(interest)

    def _command(self, command: HostCommand) -> None:
        make = _COMMANDS.get(command.kind)
        if command.kind == COMMAND_CANCEL:
            self._children.cancel(RunId(command.run_id), command.actor)
        elif command.kind == COMMAND_CLOSE_GATE and self._reporter is not None:
            self._reporter.close_gate()
        elif make is None:
            _log.warning("a command of kind %s was ignored", command.kind)
        else:
            self._actor.post(make(command))


def after_drain_of(command: HostCommand) -> AfterDrain:
    """What follows a drain; a word that is not known is read as the plain stop or restart."""
    try:
        return AfterDrain(command.then)
    except ValueError:
        return AfterDrain.DAEMON_RESTART if command.is_restart else AfterDrain.DAEMON_STOP


_COMMANDS: dict[str, Callable[[HostCommand], SessionCommand]] = {
    "stop_turn": lambda command: StopTurn(actor=command.actor),
    "compact": lambda command: Compact(actor=command.actor),
    "cancel_job": lambda command: CancelJob(
        job_id=JobId(command.job_id), actor=command.actor, authority=None
    ),
    "drain": lambda command: Drain(then=after_drain_of(command), budget_s=command.budget_s),
    "passivate": lambda command: Passivate(reason=command.reason),
}
"""The supervisor's wishes as commands of the rules."""


async def build_session(
    welcome: Welcome,
    *,
    sink: FrameSink,
    tools: ToolRunner,
    redact: Redact,
    ending: Ending,
    log: SessionLog,
    memory: MemoryPort | None = None,
    git: GitInspection | None = None,
    servers: ToolServers | None = None,
    make_stream: Callable[[], StreamRedactor] = lambda: StreamRedactor(Redactor()),
) -> Session:
    """Recover the state and put the parts together; nothing runs before `begin`."""
    settings = decode_settings(welcome.settings)
    state = await recover_state(welcome)
    if state.run is not None:
        settings = run_settings(settings, state.run.frozen)
        tools.restrict(state.run.frozen.tools)
    outbound = Outbound(sink, incarnation=welcome.incarnation)
    lines = LogLines(redact)
    reporter: ChildReporter | None = None

    def on_event(recorded: Recorded, after: SessionState) -> None:
        _record(log, lines, recorded, after)
        if reporter is not None:
            reporter.saw_event()

    def end_round(
        command: SessionCommand, remainder: Callable[[], TextDelta | None] | None = None
    ) -> None:
        if reporter is not None:
            reporter.saw_round(command)
        actor.post(command, remainder)

    actor = Actor(
        rules=partial(_decide, settings=settings, redact=partial(shown_arguments, redact=redact)),
        state=state,
        runtime=Runtime(
            interest=OutputFilter(welcome.interest),
            snapshot_seq=welcome.snapshot_seq,
            snapshot_bytes=len(welcome.snapshot),
            notices=tuple(map(notice_from_proto, welcome.notices)),
        ),
        outbound=outbound,
        snapshots=Snapshots(),
        ending=ending,
        now_ms=wall_clock_ms,
        on_event=on_event,
    )
    timers = RuleTimers(actor.post)
    trees = AnnouncedTrees(sink)
    if servers is not None:
        servers.announce_to(trees)
    asks = Asks(sink)
    clients = ModelClients(settings, welcome.credentials)
    driver = TurnDriver(
        clients=clients.usable,
        timeouts=settings.timeouts,
        tuning=settings.tuning,
        ending=ending,
        post=end_round,
        emit=outbound.emit_now,
        ask_release=lambda token: actor.post(BeginOutput(token=DispatchToken(token))),
        without_model=NO_MODEL if state.run is None else sentences.MODEL_GONE,
    )
    driver.change_interest(OutputFilter(welcome.interest))
    storage = SessionStorage(
        home=welcome.storage_home, root=welcome.storage_root, tmp=welcome.storage_tmp
    )
    jobs = BackgroundJobs(
        storage=storage,
        asks=asks,
        trees=trees,
        make_stream=make_stream,
        post=actor.post,
        emit=lambda output: outbound.emit_now((output,)),
        ending=ending,
    )
    freezing = RunFreezing(
        session_id=SessionId(welcome.session_id),
        storage=storage,
        settings=settings,
        tools=lambda by: tools.native(by, settings.tools),
    )
    children = Children(
        asks=asks,
        freezing=freezing,
        look=lambda: actor.state,
        post=actor.post,
        ending=ending,
    )
    contexts = ToolContexts(
        session_id=SessionId(welcome.session_id),
        storage=storage,
        settings=settings,
        trees=trees,
        consents=ConsentLink(asks),
        redact=redact,
        look=lambda: (actor.state, actor.runtime),
        jobs=jobs,
        now_ms=wall_clock_ms,
        children=children,
        freezing=freezing,
        asks=asks,
    )
    judge = CallJudge(tools, contexts)
    launcher = ToolLauncher(
        tools,
        timeouts=settings.timeouts,
        make_context=contexts.make,
        post=actor.post,
        ending=ending,
    )
    leave: Callable[[], None] = partial(ending.finish, ExitCode.PASSIVATED)
    if welcome.HasField("child"):
        reporter = ChildReporter(
            welcome.child,
            asks=asks,
            files=RunFiles(storage, redact),
            look=lambda: actor.state,
            post=actor.post,
            until_idle=launcher.until_idle,
            ending=ending,
        )
        leave = reporter.leave
    actor.attach(
        Performer(
            requests=ModelRequests(
                session_id=SessionId(welcome.session_id),
                storage=storage,
                settings=settings,
                tools=tools,
                git=git,
                trees=trees,
                ending=ending,
                freezing=freezing,
                job_state=lambda job: jobs.as_it_is(job)[0],
            ),
            driver=driver,
            sidecars=Sidecars(
                models=SidecarModels(
                    clients=clients.for_sidecars, timeout_s=settings.timeouts.sidecar_s
                ),
                memory=memory or NoMemory(),
                ending=ending,
                post=actor.post,
            ),
            launcher=launcher,
            judge=judge,
            rechecks=Rechecks(judge, post=actor.post, ending=ending),
            jobs=jobs,
            children=children,
            reporter=reporter,
            timers=timers,
            outbound=outbound,
            leave=leave,
            log=lambda level, text: _log_line(log, lines, level, text),
        )
    )
    return Session(
        actor=actor,
        driver=driver,
        trees=trees,
        asks=asks,
        timers=timers,
        clients=clients,
        servers=servers,
        children=children,
        reporter=reporter,
    )


def _decide(
    state: SessionState,
    runtime: Runtime,
    command: SessionCommand,
    now_ms: int,
    *,
    settings: SessionSettings,
    redact: Redact,
) -> Decision:
    return decide(
        state,
        runtime,
        command,
        now_ms=now_ms,
        make_id=new_id,
        settings=settings,
        redact=redact,
    )


def _record(log: SessionLog, lines: LogLines, recorded: Recorded, after: SessionState) -> None:
    log.write(lambda: lines.render(recorded, after))


def _log_line(log: SessionLog, lines: LogLines, level: str, text: str) -> None:
    if level == "debug":
        return
    now = wall_clock_ms()
    log.write(lambda: lines.note(now, level, text))
