"""A parent's process: hands work to runs, has them carried, takes their reports, tells of them."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from netclaw.core.authority import Audience
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import CallId, RunId, TurnId
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_commands import ChildAsk
from netclaw.core.session.child_effects import CancelAnswer, ReportKind
from netclaw.core.session.child_events import (
    ChildAccepted,
    ChildCancelAdmitted,
    ChildDispatchClosed,
    ChildEnded,
    ChildParked,
    ChildResultDelivered,
    ChildResumed,
    ChildStarted,
    ChildState,
)
from netclaw.core.session.consent_events import ConsentRequest
from netclaw.core.session.events import (
    AnswerAdmitted,
    InputAdmitted,
    ToolResultRecorded,
    TurnRecorded,
)
from netclaw.core.settings import SessionSettings
from netclaw.core.tool_call import OutcomeCategory, ToolResult
from netclaw.ports.children import (
    ChildAck,
    ChildCancelled,
    ChildOrder,
    ChildReport,
    ChildWord,
)
from netclaw.session_proc.main import serve
from netclaw.session_proc.tool_setup import make_tools
from netclaw.wire import children as wire
from netclaw.wire.journal_codec import encode_settings
from netclaw.wire.v1.session_host_pb2 import Answer, Ask, Committed, ToSession, Welcome
from tests.fakes.model import FakeModel
from tests.session_proc.conftest import Start
from tests.session_proc.host import Crash, ScriptedHost
from tests.session_proc.journal import local_authority
from tests.session_proc.test_rechecks import ASKED

AGENT = """---
name: worker
description: Does what it is told.
modelRole: Main
timeoutSeconds: 120
---
You are the worker.
"""
KINDS = {
    wire.ASK_START: ChildOrder,
    wire.ASK_CLOSE: ChildWord,
    wire.ASK_DRAIN: ChildWord,
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
            options=ASKED.options,
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


@pytest.fixture
def supervisor(host: ScriptedHost) -> Supervisor:
    """The supervisor of a session that may have runs."""
    return Supervisor(host)


@pytest.fixture
async def start(host: ScriptedHost) -> AsyncIterator[Start]:
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


def spawning(task: str = "look around", **more: str) -> str:
    """A prompt that makes the model spawn."""
    return f"[[tool:spawn_agent {json.dumps({'agent': 'Worker', 'task': task, **more})}]]"


def results(host: ScriptedHost) -> list[ToolResult]:
    """All results of calls."""
    return [e.result for e in host.journal.events() if isinstance(e, ToolResultRecorded)]


@pytest.mark.requirement("parent.spawn")
async def test_a_run_is_on_record_before_it_starts_and_before_its_call_is_answered(
    host: ScriptedHost, start: Start, supervisor: Supervisor, model: FakeModel
) -> None:
    seen: list[list[str]] = []
    supervisor.on_order = lambda _order: seen.append(host.journal.names())
    start()
    host.admit(f"{spawning(context='be quick')} [[reply:handed over]]")
    await host.turn_completed()
    (result,) = results(host)
    answer = json.loads(result.text)
    accepted = next(e for e in host.journal.events() if isinstance(e, ChildAccepted))
    assert answer == {
        "run_id": accepted.run_id,
        "scope_id": accepted.session_id,
        "state": "Accepted",
        "control_tool": "check_agent_run",
    }
    names = host.journal.names()
    assert names.index("ChildAccepted") < names.index("ToolResultRecorded")
    assert "ChildAccepted" in seen[0]
    (order,) = supervisor.orders
    assert order.accepted == accepted
    assert order.accepted.task == "# Context\n\nbe quick\n\n# Task\n\nlook around"
    assert (order.start, order.answers) == (1, ())
    frozen = order.frozen
    assert frozen is not None
    assert (frozen.agent, frozen.provider, frozen.model) == ("worker", "fake", "fake-model")
    assert frozen.timeout_s == 120
    assert frozen.system_prompt.startswith("You are the worker.\n\n[headless]")
    assert "shell_execute" not in frozen.tools  # there is no sandbox here
    assert "file_read" in frozen.tools
    assert not {"spawn_agent", "check_agent_run", "attach_file"} & set(frozen.tools)
    (turn,) = (e for e in host.journal.events() if isinstance(e, TurnRecorded))
    assert turn.open_child_runs == (accepted.run_id,)
    block = model.requests[0].body["messages"][1]["content"]
    assert "[available-subagents]\n- worker: Does what it is told." in str(block)


@pytest.mark.requirement("parent.spawn")
@pytest.mark.parametrize(
    ("call", "category", "word"),
    [
        ({"agent": "nobody", "task": "x"}, OutcomeCategory.NOT_FOUND, "Available are: worker."),
        ({"agent": "worker", "task": " "}, OutcomeCategory.INVALID_INPUT, "empty"),
        ({"agent": "worker"}, OutcomeCategory.INVALID_INPUT, "task"),
    ],
)
async def test_a_call_that_names_no_work_starts_nothing(
    host: ScriptedHost,
    start: Start,
    supervisor: Supervisor,
    call: dict[str, str],
    category: OutcomeCategory,
    word: str,
) -> None:
    start()
    host.admit(f"[[tool:spawn_agent {json.dumps(call)}]] [[reply:so be it]]")
    await host.turn_completed()
    (result,) = results(host)
    assert result.receipt.category is category
    assert word in result.text
    assert supervisor.words == []
    assert supervisor.count(ChildAccepted) == 0


@pytest.mark.requirement("parent.spawn")
async def test_nothing_is_offered_where_it_is_switched_off_or_public(
    host: ScriptedHost, start: Start, supervisor: Supervisor, model: FakeModel
) -> None:
    host.settings = replace(host.settings, are_agents_offered=False)
    start()
    host.admit(f"{spawning()} [[reply:no]]")
    await host.turn_completed()
    assert "There is no such tool" in results(host)[0].text
    assert "available-subagents" not in str(model.requests[0].body)
    del supervisor


@pytest.mark.requirement("parent.spawn")
async def test_a_public_conversation_hands_nothing_over(
    host: ScriptedHost, start: Start, supervisor: Supervisor
) -> None:
    mine = local_authority()
    public = replace(mine, requester=replace(mine.requester, audience=Audience.PUBLIC))
    host.journal.commit(
        (
            InputAdmitted(
                input_id="stranger",  # type: ignore[arg-type]
                source_message_id=None,
                text=f"{spawning()} [[reply:no]]",
                authority=public,
                attended=True,
            ),
        )
    )
    start()
    await host.turn_completed()
    assert "There is no such tool" in results(host)[0].text
    assert supervisor.words == []


@pytest.mark.requirement("parent.deliver")
async def test_an_end_is_on_record_before_it_is_acknowledged_and_told_of_once(
    host: ScriptedHost, start: Start, supervisor: Supervisor, model: FakeModel
) -> None:
    start()
    host.admit(f"{spawning()} [[reply:handed over]]")
    await supervisor.until(wire.ASK_START)
    supervisor.report(ReportKind.BEGUN)
    await host.turn_completed()
    supervisor.end()
    supervisor.end()
    await host.turn_completed(2)
    acks = [said for said in supervisor.of(wire.ASK_ACK) if isinstance(said, ChildAck)]
    assert [ack.report for ack in acks] == [ReportKind.BEGUN, ReportKind.ENDED, ReportKind.ENDED]
    assert supervisor.count(ChildEnded) == supervisor.count(ChildResultDelivered) == 1
    notice = str(model.requests[-1].body["messages"][-1]["content"])
    assert supervisor.run_id in notice
    assert "/s/subagents/r/result.md" in notice
    assert "Completed" in notice
    last = [e for e in host.journal.events() if isinstance(e, TurnRecorded)][-1]
    assert last.open_child_runs == ()


@pytest.mark.requirement("parent.deliver")
async def test_what_a_run_wrote_is_among_the_files_of_the_next_turn(
    host: ScriptedHost, start: Start, supervisor: Supervisor, model: FakeModel
) -> None:
    start()
    host.admit(f"{spawning()} [[reply:handed over]]")
    await supervisor.until(wire.ASK_START)
    await host.turn_completed()
    supervisor.end()
    await host.turn_completed(2)
    assert "/p/made" in str(model.requests[-1].body)


@pytest.mark.requirement("parent.start-fails")
@pytest.mark.parametrize("agent_goes", [False, True])
async def test_a_run_that_cannot_be_started_ends_failed_and_is_told_of(
    host: ScriptedHost, start: Start, supervisor: Supervisor, agent_goes: bool
) -> None:
    if agent_goes:
        host.before_append = lambda append: (
            (host.folder / "agents" / "worker.md").unlink()
            if any(event.type == "ChildAccepted" for event in append.events)
            else None
        )
    else:
        supervisor.refused = "storage_full"
    start()
    host.admit(f"{spawning()} [[reply:handed over]]")
    await host.turn_completed(2)
    (end,) = (e for e in host.journal.events() if isinstance(e, ChildEnded))
    assert end.state is ChildState.FAILED
    assert end.reason == ("agent_missing" if agent_goes else "storage_full")


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


@pytest.mark.requirement("parent.check")
async def test_a_run_is_looked_at_and_cancelled_in_two_facts(
    host: ScriptedHost, start: Start, supervisor: Supervisor
) -> None:
    start()
    await with_a_run(host, supervisor)
    host.admit(checking(supervisor))
    await host.turn_completed(2)
    shown = json.loads(results(host)[-1].text)
    run_dir = host.folder / "root" / "subagents" / supervisor.run_id
    assert shown == {
        "run_id": supervisor.run_id,
        "agent": "worker",
        "state": "Running",
        "reason": "",
        "cancel_admitted": False,
        "dispatch_closed": False,
        "log_path": str(run_dir / "logs" / "session.log"),
        "artifact_dir": str(run_dir / "artifacts"),
        "result_path": "",
    }
    host.admit(checking(supervisor, cancel=True))
    await host.turn_completed(3)
    shown = json.loads(results(host)[-1].text)
    assert (shown["cancel_admitted"], shown["dispatch_closed"]) == (True, False)
    await supervisor.until(wire.ASK_CLOSE)
    supervisor.report(ReportKind.DISPATCH_CLOSED)
    await supervisor.recorded(ChildDispatchClosed)
    host.admit(checking(supervisor))
    await host.turn_completed(4)
    shown = json.loads(results(host)[-1].text)
    assert (shown["state"], shown["dispatch_closed"]) == ("Cancelling", True)
    supervisor.end(state=ChildState.COMPLETED)
    await supervisor.recorded(ChildEnded)
    (end,) = (e for e in host.journal.events() if isinstance(e, ChildEnded))
    assert (end.state, end.reason) == (ChildState.CANCELLED, "CancelledByParent")


@pytest.mark.requirement("parent.check")
async def test_who_may_not_see_a_run_is_told_what_who_names_none_is_told(
    host: ScriptedHost, start: Start, supervisor: Supervisor
) -> None:
    start()
    await with_a_run(host, supervisor)
    _, rows = host.journal.admit(checking(supervisor, cancel=True), sender="somebody else")
    host.send(ToSession(committed=Committed(rows=rows)))
    await host.turn_completed(2)
    host.admit('[[tool:check_agent_run {"run_id":"nobody"}]] [[reply:looked]]')
    await host.turn_completed(3)
    foreign, unknown = results(host)[-2:]
    assert foreign.text == unknown.text
    assert foreign.receipt.category is unknown.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert supervisor.count(ChildCancelAdmitted) == 0


@pytest.mark.requirement("parent.cancel-outside")
async def test_an_operator_cancels_from_outside_and_hears_what_became_of_it(
    host: ScriptedHost, start: Start, supervisor: Supervisor
) -> None:
    start()
    await with_a_run(host, supervisor)
    host.command("cancel_child", actor="op-1", run_id=supervisor.run_id)
    told = await supervisor.until(wire.ASK_CANCELLED)
    assert told == ChildCancelled(
        run_id=supervisor.run_id, actor="op-1", answer=CancelAnswer.ADMITTED
    )
    await supervisor.until(wire.ASK_CLOSE)
    host.command("cancel_child", actor="op-2", run_id="nobody")
    told = await supervisor.until(wire.ASK_CANCELLED, 2)
    assert isinstance(told, ChildCancelled)
    assert told.answer is CancelAnswer.NOT_FOUND


@pytest.mark.requirement("parent.pause")
async def test_a_parked_run_pauses_the_session_until_its_answer_starts_it_anew(
    host: ScriptedHost, start: Start, supervisor: Supervisor
) -> None:
    start()
    await with_a_run(host, supervisor)
    supervisor.park()
    await supervisor.recorded(ChildParked)
    host.admit(f"{spawning('more')} [[reply:then not]]")
    await host.turn_completed(2)
    refused = results(host)[-1]
    assert refused.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert refused.text.startswith("consent_pause: ")
    supervisor.answer()
    await supervisor.until(wire.ASK_START, 2)
    order = supervisor.orders[-1]
    assert order.start == 2
    assert [(a.call_id, a.option, a.answerer) for a in order.answers] == [
        ("childcall", "approve_once", "me")
    ]
    supervisor.report(ReportKind.BEGUN, start=2)
    supervisor.end(start=2)
    await host.turn_completed(3)
    assert supervisor.count(ChildAccepted) == 1


@pytest.mark.requirement("parent.passive")
async def test_an_answer_reaches_a_parked_run_in_another_process_of_its_parent(
    host: ScriptedHost, start: Start, supervisor: Supervisor
) -> None:
    process = start()
    await with_a_run(host, supervisor)
    supervisor.park()
    await supervisor.recorded(ChildParked)
    host.command("passivate", reason="room")
    async with asyncio.timeout(10):
        assert await process is ExitCode.PASSIVATED
    await host.over.wait()
    supervisor.answer()
    start()
    await supervisor.until(wire.ASK_START, 2)
    assert supervisor.orders[-1].start == 2
    assert len(supervisor.orders[-1].answers) == 1


@pytest.mark.requirement("parent.drain")
async def test_a_drain_parks_the_runs_and_the_next_process_resumes_them(
    host: ScriptedHost, start: Start, supervisor: Supervisor
) -> None:
    process = start()
    await with_a_run(host, supervisor)
    host.command("drain", then=AfterDrain.DAEMON_RESTART.value, budget_s=10.0)
    word = await supervisor.until(wire.ASK_DRAIN)
    assert isinstance(word, ChildWord)
    assert word.budget_s == 9.0
    assert not process.done()
    supervisor.report(ReportKind.PARKED)
    async with asyncio.timeout(10):
        assert await process is ExitCode.PASSIVATED
    assert supervisor.count(ChildParked) == 1
    await host.over.wait()
    start()
    await supervisor.until(wire.ASK_START, 2)
    assert supervisor.orders[-1].start == 2
    assert supervisor.count(ChildResumed) == 1


@pytest.mark.requirement("parent.drain")
async def test_a_run_that_does_not_park_in_time_is_killed_and_lost(
    host: ScriptedHost, start: Start, supervisor: Supervisor
) -> None:
    process = start()
    await with_a_run(host, supervisor)
    host.command("drain", then=AfterDrain.DAEMON_RESTART.value, budget_s=1.0)
    await supervisor.until(wire.ASK_KILL)
    async with asyncio.timeout(10):
        await process
    (end,) = (e for e in host.journal.events() if isinstance(e, ChildEnded))
    assert (end.state, end.reason) == (ChildState.LOST, "owner_restarted")


APPENDS = 9


@pytest.mark.requirement("parent.again")
@pytest.mark.parametrize(("number", "crash"), list(itertools.product(range(2, APPENDS + 1), Crash)))
async def test_a_parent_that_dies_at_any_append_tells_of_its_run_once(
    host: ScriptedHost, start: Start, supervisor: Supervisor, number: int, crash: Crash
) -> None:
    """The run says the same to each process until it is acknowledged, as a real one does."""
    host.crash_at = (number, crash)
    host.journal.admit(f"{spawning()} [[reply:handed over]]")

    def carry(order: ChildOrder) -> None:
        supervisor.report(ReportKind.BEGUN, start=order.start)
        supervisor.end(start=order.start)

    supervisor.on_order = carry
    async with asyncio.timeout(10):
        first = start()
        done = asyncio.create_task(_delivered(supervisor))
        await asyncio.wait((first, done), return_when=asyncio.FIRST_COMPLETED)
    if first.done():
        await host.over.wait()
        host.crash_at = None
        start()
    await done
    assert supervisor.count(ChildAccepted) <= 1
    assert supervisor.count(ChildEnded) == supervisor.count(ChildAccepted)
    assert supervisor.count(ChildResultDelivered) == supervisor.count(ChildAccepted)
    assert {order.start for order in supervisor.orders} <= {1}


async def _delivered(supervisor: Supervisor) -> None:
    """Return once nothing is open any more: told of, or never accepted and its turn over."""

    def is_over() -> bool:
        turns = [
            e
            for e in supervisor.host.journal.events()
            if type(e).__name__ in ("TurnRecorded", "TurnFailed")
        ]
        told = supervisor.count(ChildResultDelivered)
        return len(turns) >= 1 + told and told == supervisor.count(ChildAccepted)

    await supervisor.host.until(lambda _seen: is_over())


def test_what_is_said_of_runs_is_read_as_it_was_written() -> None:
    with pytest.raises(Exception, match="cannot be read"):
        wire.decode(b"{}", ChildOrder)
    word = ChildWord(run_id=RunId("r"), budget_s=2.0)
    assert wire.decode(wire.encode(word), ChildWord) == word
    with pytest.raises(Exception, match="Unicode"):
        wire.encode(ChildWord(run_id=RunId("\ud800")))


def test_the_settings_know_whether_agents_are_offered() -> None:
    assert SessionSettings().are_agents_offered
