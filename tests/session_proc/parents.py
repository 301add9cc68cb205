"""A scripted supervisor for a parent, and prompts that make its model use runs."""

from __future__ import annotations

import json
from collections.abc import Callable

from netclaw.core.ids import CallId, RunId, TurnId
from netclaw.core.session.child_commands import ChildAsk
from netclaw.core.session.child_effects import ReportKind
from netclaw.core.session.child_events import (
    ChildAccepted,
    ChildStarted,
    ChildState,
)
from netclaw.core.session.consent_events import ConsentEffect, ConsentOption, ConsentRequest
from netclaw.core.session.events import (
    AnswerAdmitted,
    ToolResultRecorded,
)
from netclaw.core.tool_call import ToolResult
from netclaw.ports.children import (
    ChildAck,
    ChildCancelled,
    ChildDrain,
    ChildOrder,
    ChildReport,
    ChildWord,
)
from netclaw.wire import children as wire
from netclaw.wire.v1.session_host_pb2 import Answer, Ask, Committed, ToSession
from tests.session_proc.host import ScriptedHost
from tests.session_proc.journal import local_authority

AGENT = """---
name: worker
description: Does what it is told.
modelRole: Main
timeoutSeconds: 120
---
You are the worker.
"""
OPTIONS = (
    ConsentOption(key="approve_once", label="Once", effect=ConsentEffect.APPROVE),
    ConsentOption(key="deny", label="Deny", effect=ConsentEffect.REFUSE),
)
KINDS = {
    wire.ASK_START: ChildOrder,
    wire.ASK_CLOSE: ChildWord,
    wire.ASK_DRAIN: ChildDrain,
    wire.ASK_KILL: ChildWord,
    wire.ASK_ACK: ChildAck,
    wire.ASK_CANCELLED: ChildCancelled,
}


class Supervisor:
    """Plays the supervisor and the runs: answers what the parent asks, reports what it likes."""

    def __init__(self, host: ScriptedHost) -> None:
        self.host = host
        self.words: list[tuple[str, wire.Said]] = []
        self.refused: str = ""
        """Error code that starts are answered with."""
        self.on_order: Callable[[ChildOrder], None] = lambda _order: None
        host.on_ask = self._take
        agents = host.folder / "agents"
        agents.mkdir()
        (agents / "worker.md").write_text(AGENT)

    def of(self, kind: str) -> list[wire.Said]:
        """What was said of this kind."""
        return [said for word, said in self.words if word == kind]

    @property
    def orders(self) -> list[ChildOrder]:
        """The starts."""
        return [said for said in self.of(wire.ASK_START) if isinstance(said, ChildOrder)]

    @property
    def run_id(self) -> RunId:
        """The run that was accepted."""
        return next(e.run_id for e in self.host.journal.events() if isinstance(e, ChildAccepted))

    async def until(self, kind: str, count: int = 1) -> wire.Said:
        """The newest word of this kind, once there are so many."""
        await self.host.until(lambda _seen: len(self.of(kind)) >= count)
        return self.of(kind)[-1]

    async def recorded(self, kind: type, count: int = 1) -> None:
        """Return once so many events of this kind are on record."""
        await self.host.until(lambda _seen: self.count(kind) >= count)

    def count(self, kind: type) -> int:
        """How many events of this kind there are."""
        return sum(isinstance(event, kind) for event in self.host.journal.events())

    def report(self, kind: ReportKind, *, start: int = 1, **more: object) -> None:
        """The run reports."""
        report = ChildReport(run_id=self.run_id, start=start, kind=kind, **more)  # type: ignore[arg-type]
        self.host.send(ToSession(child_report=wire.report_frame(report)))

    def end(self, *, start: int = 1, state: ChildState = ChildState.COMPLETED) -> None:
        """The run reports its end."""
        self.report(
            ReportKind.ENDED,
            start=start,
            state=state,
            result_path="/s/subagents/r/result.md",
            files=("/p/made",),
        )

    def park(self, *, start: int = 1) -> None:
        """The run reports that it waits for consent."""
        request = ConsentRequest(
            call_id=CallId("childcall"),
            tool="say",
            display="say aloud",
            candidates=("say",),
            options=OPTIONS,
            requester=local_authority().requester,
        )
        ask = ChildAsk(turn_id=TurnId("childturn"), request=request)
        self.report(ReportKind.PARKED, start=start, asks=(ask,))

    def answer(self, option: str = "approve_once") -> None:
        """The person answers the run's request."""
        requester = local_authority().requester
        event = AnswerAdmitted(
            call_id=CallId("childcall"),
            option=option,
            answerer=requester.sender_id or "",
            boundary=requester.boundary,
            principal=requester.principal,
        )
        rows = self.host.journal.commit((event,))
        self.host.send(ToSession(committed=Committed(rows=rows)))

    def _take(self, ask: Ask) -> bool:
        if ask.kind not in KINDS:
            return False
        said = wire.decode(ask.payload, KINDS[ask.kind])
        self.words.append((ask.kind, said))
        answer = Answer(number=ask.number)
        if ask.kind == wire.ASK_START and self.refused:
            answer.error_code, answer.sentence = self.refused, "It cannot be started."
        self.host.send(ToSession(answer=answer))
        if isinstance(said, ChildOrder):
            self.on_order(said)
        return True


LOADING = '[[tool:load_tool {"name":"spawn_agent"}]] [[next]]'
"""What comes before the first spawn: the tool is deferred."""


def spawning(task: str = "look around", **more: str) -> str:
    """A prompt that makes the model spawn."""
    call = json.dumps({"agent": "Worker", "task": task, **more})
    return f"{LOADING} [[tool:spawn_agent {call}]]"


def results(host: ScriptedHost) -> list[ToolResult]:
    """All results of calls but those that load the agent tools."""
    found = [e.result for e in host.journal.events() if isinstance(e, ToolResultRecorded)]
    return [item for item in found if item.loaded_tool != "spawn_agent"]


def checking(supervisor: Supervisor, *, cancel: bool = False) -> str:
    """A prompt that makes the model look at the run."""
    call = {"run_id": supervisor.run_id, "cancel": cancel}
    return f"[[tool:check_agent_run {json.dumps(call)}]] [[reply:looked]]"


async def with_a_run(host: ScriptedHost, supervisor: Supervisor) -> None:
    """A session at rest whose run is at work."""
    host.admit(f"{spawning()} [[reply:handed over]]")
    await supervisor.until(wire.ASK_START)
    supervisor.report(ReportKind.BEGUN)
    await supervisor.recorded(ChildStarted)
    await host.turn_completed()
