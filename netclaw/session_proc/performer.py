"""Performs what the rules decided: model calls, tools, timers, and the exit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from netclaw.core.ids import DispatchToken
from netclaw.core.session.child_effects import ChildEffect, ReportGateClosed
from netclaw.core.session.effects import (
    CallModel,
    CallNotes,
    CallTitle,
    CancelModel,
    CancelSidecar,
    CancelTimer,
    CancelTool,
    DistilMemory,
    Effect,
    Emit,
    ExitProcess,
    Log,
    QueueCheckpoint,
    RecheckCall,
    ReleaseDeltas,
    RunTool,
    StartTimer,
)
from netclaw.core.session.job_effects import (
    AnswerJobCancel,
    JobEffect,
    KillJob,
    LaunchJob,
    RefuseJob,
)
from netclaw.core.session.state import Runtime, SessionState
from netclaw.session_proc.background_jobs import BackgroundJobs
from netclaw.session_proc.child_reporter import ChildReporter
from netclaw.session_proc.children import Children
from netclaw.session_proc.frames import HostFault
from netclaw.session_proc.judging import CallJudge
from netclaw.session_proc.model_requests import ModelRequests
from netclaw.session_proc.outbound import Outbound
from netclaw.session_proc.rechecks import Rechecks
from netclaw.session_proc.rule_timers import RuleTimers
from netclaw.session_proc.sidecars import Sidecars
from netclaw.session_proc.tool_launcher import ToolLauncher
from netclaw.session_proc.turn_driver import TurnDriver


class Performer:
    """The actor's effect runner."""

    def __init__(
        self,
        *,
        requests: ModelRequests,
        driver: TurnDriver,
        sidecars: Sidecars,
        launcher: ToolLauncher,
        judge: CallJudge,
        rechecks: Rechecks,
        jobs: BackgroundJobs,
        children: Children,
        reporter: ChildReporter | None,
        timers: RuleTimers,
        outbound: Outbound,
        leave: Callable[[], None],
        log: Callable[[str, str], None],
    ) -> None:
        self._requests = requests
        self._driver = driver
        self._sidecars = sidecars
        self._launcher = launcher
        self._judge = judge
        self._rechecks = rechecks
        self._jobs = jobs
        self._children = children
        self._reporter = reporter
        self._timers = timers
        self._outbound = outbound
        self._leave = leave
        self._log = log

    def call_early(self, effect: CallModel, state: SessionState, runtime: Runtime) -> None:
        """Start a model call whose TurnStarted is still being committed."""
        self._call_model(effect, state, runtime)

    def cancel_early(self, token: DispatchToken) -> None:
        """Cancel it: the append was refused."""
        self._driver.cancel(token)

    def perform(self, effect: Effect, state: SessionState, runtime: Runtime) -> None:
        """Perform one effect of a committed decision."""
        match effect:
            case CallModel():
                self._call_model(effect, state, runtime)
            case RunTool() | RecheckCall() | CancelTool():
                self._of_tools(effect, state)
            case CallNotes() | CallTitle() | DistilMemory() | QueueCheckpoint() | CancelSidecar():
                self._sidecars.perform(effect)
            case CancelModel() | CancelTimer():
                self._cancel(effect)
            case ReleaseDeltas():
                self._driver.release(effect.token)
            case Emit():
                self._outbound.emit((effect.output,))
            case StartTimer():
                self._timers.start(effect)
            case Log():
                self._log(effect.level, effect.text)
            case ExitProcess():
                self._leave()
            case _:
                self._of_open_work(effect)

    def _of_open_work(self, effect: ChildEffect | JobEffect) -> None:
        match effect:
            case LaunchJob() | RefuseJob() | KillJob() | AnswerJobCancel():
                self._jobs.perform(effect)
            case ReportGateClosed():
                if self._reporter is not None:
                    self._reporter.gate_closed()
            case _:
                self._children.perform(effect)

    def _cancel(self, effect: CancelModel | CancelTimer) -> None:
        match effect:
            case CancelModel():
                self._driver.cancel(effect.token)
            case CancelTimer():
                self._timers.cancel(effect.timer)

    def _of_tools(self, effect: RunTool | RecheckCall | CancelTool, state: SessionState) -> None:
        match effect:
            case RunTool():
                self._launcher.launch(effect)
            case RecheckCall():
                self._rechecks.judge(effect, state)
            case CancelTool():
                self._launcher.cancel(effect.token)

    def _call_model(self, effect: CallModel, state: SessionState, runtime: Runtime) -> None:
        turn = state.turn
        if turn is None:
            raise HostFault("a model call was begun outside a turn")
        make = partial(self._requests.make, turn, state, runtime)
        judge = partial(self._judge.proposed, turn, state)
        self._driver.start(effect.token, effect.turn_id, effect.round, make, judge)
