"""A scripted supervisor for the process of a child run, and for that of its parent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from netclaw.core.ids import CallId, RunId, SessionId, TurnId
from netclaw.core.session import child_birth
from netclaw.core.session.child_effects import ChildAnswer, ReportKind
from netclaw.core.session.child_events import ChildAccepted, ChildFrozen
from netclaw.ports.children import ChildReport
from netclaw.wire.children import ASK_REPORT, decode
from netclaw.wire.v1.session_host_pb2 import Answer, Ask, ChildRole, Committed, ToSession
from tests.session_proc.host import ScriptedHost
from tests.session_proc.journal import SESSION, MemoryJournal, local_authority

RUN = RunId("runaaaaaaaaaaaaa")
FROZEN = ChildFrozen(
    run_id=RUN,
    parent=SESSION,
    agent="worker",
    system_prompt="You are the worker.",
    provider="fake",
    model="fake-model",
    tools=("say",),
)


def accepted(task: str, *, attended: bool = True) -> ChildAccepted:
    """The run on its parent's record."""
    return ChildAccepted(
        run_id=RUN,
        session_id=SessionId(f"{SESSION}/sub/{RUN}"),
        agent="worker",
        task=task,
        start_key="key",
        digest="digest",
        turn_id=TurnId("turn"),
        call_id=CallId("call"),
        authority=local_authority(),
        is_attended=attended,
    )


@dataclass
class RunDesk:
    """Plays supervisor and parent for one run: takes its reports, acknowledges them."""

    host: ScriptedHost
    task: str
    reports: list[ChildReport] = field(default_factory=list)
    acks: Callable[[ChildReport], bool] = lambda _report: True
    """Whether a report is acknowledged at once."""
    on_report: Callable[[ChildReport], None] = lambda _report: None
    held: list[Ask] = field(default_factory=list)
    attended: bool = True
    frozen: ChildFrozen = FROZEN

    def __post_init__(self) -> None:
        """The host's session is the run from now on."""
        born = child_birth.first_events(accepted(self.task, attended=self.attended), self.frozen)
        self.host.journal = MemoryJournal(first=born)
        self.host.on_ask = self._take
        self.begin(1)

    def begin(
        self, start: int, answers: Iterable[ChildAnswer] = (), *, closed: bool = False
    ) -> None:
        """The next process is this start of the run, with these answers committed before."""
        run = accepted(self.task, attended=self.attended)
        events = child_birth.answer_events(run, answers)
        if events:
            self.host.journal.commit(events)
        self.host.child = ChildRole(run_id=RUN, start=start, is_gate_closed=closed)

    def acknowledge(self) -> None:
        """Everything that was held back is acknowledged."""
        for ask in self.held:
            self.host.send(ToSession(answer=Answer(number=ask.number)))
        self.held.clear()

    def kinds(self) -> list[ReportKind]:
        """What was reported, in order."""
        return [report.kind for report in self.reports]

    async def until(self, kind: ReportKind, count: int = 1) -> ChildReport:
        """The newest report of this kind, once there are so many."""
        await self.host.until(lambda _seen: self.kinds().count(kind) >= count)
        return [report for report in self.reports if report.kind is kind][-1]

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self.host.folder / "root"

    def _take(self, ask: Ask) -> bool:
        if ask.kind != ASK_REPORT:
            return False
        report = decode(ask.payload, ChildReport)
        self.reports.append(report)
        self.on_report(report)
        if self.acks(report):
            self.host.send(ToSession(answer=Answer(number=ask.number)))
        else:
            self.held.append(ask)
        return True


def write(desk: RunDesk, text: str) -> None:
    """A person writes into the run's own session."""
    _, rows = desk.host.journal.admit(text)
    desk.host.send(ToSession(committed=Committed(rows=rows)))


def answers_to(report: ChildReport, option: str) -> list[ChildAnswer]:
    """Somebody answers everything a parked run asks for."""
    return [
        ChildAnswer(call_id=ask.request.call_id, option=option, answerer="me")
        for ask in report.asks
    ]


def named(report: ChildReport, **changes: object) -> ChildReport:
    """The same report with something else in it."""
    return replace(report, **changes)  # type: ignore[arg-type]
