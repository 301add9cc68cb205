"""Processes of child runs and of jobs as the state machine plays them.

A child's process belongs to the supervisor: it outlives its parent's process and sends each report
again until somebody acknowledges it. A job belongs to the session's process and dies with it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from netclaw.core.ids import CallId, JobId, RunId, TurnId
from netclaw.core.session import child_commands as cc
from netclaw.core.session import child_effects as ce
from netclaw.core.session import effects as fx
from netclaw.core.session import events as ev
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.commands import SessionCommand
from netclaw.core.session.consent_events import ConsentRequest
from netclaw.core.session.job_commands import EndJob
from netclaw.core.session.job_effects import JobEffect, KillJob, LaunchJob
from netclaw.core.session.job_events import JobState
from netclaw.testing.people import ALICE
from netclaw.testing.story import NEEDS_CONSENT
from tests.properties.process import Process
from tests.properties.run_rules import RunRules
from tests.properties.world import World

Report = cc.BeginChild | cc.ParkChild | cc.CloseChildDispatch | cc.EndChild

_KINDS: dict[type[Report], ce.ReportKind] = {
    cc.BeginChild: ce.ReportKind.BEGUN,
    cc.ParkChild: ce.ReportKind.PARKED,
    cc.CloseChildDispatch: ce.ReportKind.DISPATCH_CLOSED,
    cc.EndChild: ce.ReportKind.ENDED,
}


@dataclass
class ChildProcess:
    """One start of a run's process."""

    run_id: RunId
    start: int
    unacknowledged: list[Report] = field(default_factory=list)
    is_told_to_park: bool = False
    is_gate_closed: bool = False
    has_begun: bool = False
    has_spoken_last: bool = False
    """Its park or its end is reported: nothing more comes from it."""


class Children:
    """The processes of all runs of the session."""

    def __init__(self) -> None:
        self.processes: dict[RunId, ChildProcess] = {}
        self.asked = 0
        self.run_calls: set[CallId] = set()
        self._launched_jobs: set[JobId] = set()

    def perform(self, effect: ce.ChildEffect, mailbox: deque[SessionCommand]) -> None:
        """Do what the parent asks; what follows at once goes into `mailbox`."""
        match effect:
            case ce.StartChild():
                self._start(effect)
            case ce.WatchChild():
                assert effect.run_id in self.processes, "a run is watched that was never started"
            case ce.CloseChild():
                self._close(effect.run_id, mailbox)
            case ce.DrainChild():
                self._drain(effect.run_id, mailbox)
            case ce.KillChild():
                self.processes.pop(effect.run_id, None)
            case ce.AcknowledgeChild():
                self._acknowledge(effect)
            case _:
                pass

    def perform_job(
        self, effect: JobEffect, jobs: list[JobId], mailbox: deque[SessionCommand]
    ) -> None:
        """Launch and kill jobs of the present process."""
        match effect:
            case LaunchJob():
                assert effect.job_id not in self._launched_jobs, "a job was launched twice"
                self._launched_jobs.add(effect.job_id)
                jobs.append(effect.job_id)
            case KillJob() if effect.job_id in jobs:
                jobs.remove(effect.job_id)
                mailbox.append(EndJob(job_id=effect.job_id, state=JobState.CANCELLED))
            case _:
                pass

    def _start(self, effect: ce.StartChild) -> None:
        known = self.processes.get(effect.run_id)
        if known is not None and known.start >= effect.start:
            assert known.start == effect.start, "an old start was asked for again"
            return
        assert known is None or known.has_spoken_last, "two processes of one run"
        for answer in effect.answers:
            assert answer.call_id not in self.run_calls, "a parked call ran twice"
            self.run_calls.add(answer.call_id)
        self.processes[effect.run_id] = ChildProcess(effect.run_id, effect.start)

    def _close(self, run_id: RunId, mailbox: deque[SessionCommand]) -> None:
        process = self.processes.get(run_id)
        if process is None or process.is_gate_closed or process.has_spoken_last:
            return
        process.is_gate_closed = True
        report = cc.CloseChildDispatch(run_id=run_id, start=process.start)
        process.unacknowledged.append(report)
        mailbox.append(report)

    def _drain(self, run_id: RunId, mailbox: deque[SessionCommand]) -> None:
        process = self.processes.get(run_id)
        if process is not None:
            process.is_told_to_park = True
            return
        # Accepted, and the parent died before it could say so: there is nothing to stop.
        process = ChildProcess(run_id, 1, has_spoken_last=True)
        process.unacknowledged.append(cc.ParkChild(run_id=run_id, start=1))
        self.processes[run_id] = process
        mailbox.extend(process.unacknowledged)

    def _acknowledge(self, effect: ce.AcknowledgeChild) -> None:
        process = self.processes.get(effect.run_id)
        if process is not None and process.start == effect.start:
            process.unacknowledged = [
                item for item in process.unacknowledged if _KINDS[type(item)] is not effect.report
            ]

    # What processes do

    @property
    def speaking(self) -> list[ChildProcess]:
        """The processes that may still park or end."""
        return [item for item in self.processes.values() if not item.has_spoken_last]

    @property
    def unacknowledged(self) -> list[Report]:
        """What would be sent to a new process of the parent."""
        return [report for item in self.processes.values() for report in item.unacknowledged]

    def begins(self, process: ChildProcess) -> list[Report]:
        """The run's process says that it works, once."""
        if process.has_begun:
            return []
        process.has_begun = True
        report = cc.BeginChild(run_id=process.run_id, start=process.start)
        process.unacknowledged.append(report)
        return [report]

    def ends(self, process: ChildProcess, state: ChildState) -> list[Report]:
        """The run is over."""
        report = cc.EndChild(run_id=process.run_id, start=process.start, state=state)
        return self._last(process, report)

    def parks(self, process: ChildProcess, asks: int) -> list[Report]:
        """The run parks with so many requests."""
        made = []
        for _ in range(asks):
            self.asked += 1
            made.append(cc.ChildAsk(turn_id=TurnId("ct"), request=_request(f"cc{self.asked}")))
        report = cc.ParkChild(run_id=process.run_id, start=process.start, asks=tuple(made))
        return self._last(process, report)

    def _last(self, process: ChildProcess, report: Report) -> list[Report]:
        begun = self.begins(process)
        process.has_spoken_last = True
        process.unacknowledged.append(report)
        return [*begun, report]


def _request(name: str) -> ConsentRequest:
    return ConsentRequest(
        call_id=CallId(name),
        tool="shell_execute",
        display="ls",
        candidates=("ls",),
        options=NEEDS_CONSENT.options,
        requester=ALICE.requester,
    )


class RunsWorld(World):
    """The world of a session that has child runs and jobs."""

    def __init__(self, seed: int = 1) -> None:
        self.run_rules = RunRules()
        self.children = Children()
        self.jobs: list[JobId] = []
        """Jobs of the present process."""
        super().__init__(seed)

    def _commit(
        self, events: tuple[ev.SessionEvent, ...], *, own: bool = False, at: int | None = None
    ) -> None:
        for event in events:
            self.run_rules.check(event)
        super()._commit(events, own=own, at=at)

    def start(self) -> None:
        """A new process; what nobody acknowledged is sent again."""
        super().start()
        self.jobs = []
        self._alive().mailbox.extend(self.children.unacknowledged)

    def _perform(self, process: Process, effect: fx.Effect) -> None:
        if isinstance(effect, ce.ChildEffect):
            if isinstance(effect, ce.StartChild):
                assert effect.run_id in self.run_rules.runs, "started before it was accepted"
            self.children.perform(effect, process.mailbox)
        elif isinstance(effect, JobEffect):
            if isinstance(effect, LaunchJob):
                assert effect.job_id in self.run_rules.jobs, "launched before it was on record"
            self.children.perform_job(effect, self.jobs, process.mailbox)
        else:
            if isinstance(effect, fx.ExitProcess) and effect.reason != "drain":
                assert not self.run_rules.holding, "it slept over a live job or an open run"
            super()._perform(process, effect)
