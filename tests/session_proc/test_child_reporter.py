"""A run's process: works, says what becomes of it, waits to be heard, and ends."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace

import pytest

from netclaw.core.authority import SourceKind
from netclaw.core.exit_codes import ExitCode
from netclaw.core.session import sentences
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_effects import ReportKind
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.events import (
    Resumed,
    ToolBatchStarted,
    ToolResultRecorded,
    TurnFailed,
    TurnRecorded,
)
from netclaw.core.tool_call import OutcomeCategory
from tests.fakes.model import FakeModel
from tests.session_proc.conftest import Start
from tests.session_proc.host import Crash, ScriptedHost
from tests.session_proc.parents import results
from tests.session_proc.runs import FROZEN, RUN, RunDesk, answers_to, write
from tests.session_proc.test_rechecks import PROMPT, ask_unless_given
from tests.session_proc.tools import ScriptedTools

BEGUN, PARKED, ENDED = ReportKind.BEGUN, ReportKind.PARKED, ReportKind.ENDED
CLOSED = ReportKind.DISPATCH_CLOSED


def count(host: ScriptedHost, *kinds: type) -> int:
    """How many events of these kinds there are."""
    return sum(isinstance(event, kinds) for event in host.journal.events())


async def ended(process: asyncio.Task[ExitCode]) -> ExitCode:
    """How the process ended, by itself."""
    async with asyncio.timeout(10):
        return await process


@pytest.mark.requirement("run.reports")
async def test_a_run_begins_works_leaves_its_result_and_ends(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    desk = RunDesk(host, "[[reply:it is green]]")
    assert await ended(start()) is ExitCode.PASSIVATED
    assert desk.kinds() == [BEGUN, ENDED]
    end = desk.reports[-1]
    assert (end.state, end.reason, end.start) == (ChildState.COMPLETED, "", 1)
    result = desk.folder / "result.md"
    assert end.result_path == str(result)
    assert result.read_text() == f"# worker: Completed\n- Run: {RUN}\n\nit is green\n"
    task = (desk.folder / "task.md").read_text()
    assert task.startswith(f"# worker\n- Run: {RUN}\n- Requester: me (cli, Personal)\n\n")
    assert task.endswith("[[reply:it is green]]\n")
    (request,) = model.requests
    prompt, *said = request.body["messages"]
    assert prompt["content"].startswith("You are the worker.\n\n[session]\n")
    assert [item["content"] for item in said] == ["[[reply:it is green]]"]
    assert not model.title_requests


@pytest.mark.requirement("run.reports")
async def test_the_result_is_there_before_the_end_is_reported(
    host: ScriptedHost, start: Start
) -> None:
    desk = RunDesk(host, "[[reply:done]]")
    found: list[bool] = []
    desk.on_report = lambda report: found.append(
        report.kind is not ENDED or (desk.folder / "result.md").exists()
    )
    await ended(start())
    assert found == [True, True]


@pytest.mark.requirement("run.waits")
async def test_the_process_waits_until_its_end_is_on_record(
    host: ScriptedHost, start: Start
) -> None:
    desk = RunDesk(host, "[[reply:done]]")
    desk.acks = lambda report: report.kind is not ENDED
    process = start()
    await desk.until(ENDED)
    await host.settled()
    assert not process.done()
    desk.acknowledge()
    assert await ended(process) is ExitCode.PASSIVATED


@pytest.mark.requirement("run.waits")
async def test_work_does_not_wait_for_the_parent(host: ScriptedHost, start: Start) -> None:
    desk = RunDesk(host, "[[reply:done]]")
    desk.acks = lambda _report: False
    process = start()
    await host.until(lambda _seen: count(host, TurnRecorded) == 1)
    assert desk.kinds() == [BEGUN]
    desk.acks = lambda _report: True
    desk.acknowledge()
    await ended(process)
    assert desk.kinds() == [BEGUN, ENDED]


@pytest.mark.requirement("run.again")
async def test_an_end_that_nobody_heard_is_reported_by_the_next_process(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    desk = RunDesk(host, "[[reply:done]]")
    desk.acks = lambda report: report.kind is not ENDED
    process = start()
    await desk.until(ENDED)
    host.cut()
    assert await ended(process) is ExitCode.STREAM_LOST
    desk.acks = lambda _report: True
    assert await ended(start()) is ExitCode.PASSIVATED
    assert desk.kinds() == [BEGUN, ENDED, BEGUN, ENDED]
    assert desk.reports[1] == desk.reports[3]
    assert len(model.requests) == 1


@pytest.mark.requirement("run.consent")
async def test_a_run_that_waits_for_consent_parks_and_has_no_process(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    tools.rule = ask_unless_given
    desk = RunDesk(host, PROMPT)
    assert await ended(start()) is ExitCode.PASSIVATED
    parked = desk.reports[-1]
    assert desk.kinds() == [BEGUN, PARKED]
    (ask,) = parked.asks
    assert ask.request.tool == "say"
    assert ask.request.display == "say aloud"
    assert not tools.started


@pytest.mark.requirement("run.consent")
@pytest.mark.parametrize(("option", "runs"), [("approve_once", 1), ("deny", 0)])
async def test_the_next_start_runs_the_parked_calls_alone_and_once(
    host: ScriptedHost,
    start: Start,
    tools: ScriptedTools,
    model: FakeModel,
    option: str,
    runs: int,
) -> None:
    tools.rule = ask_unless_given
    desk = RunDesk(host, '[[tool:say {"key":"a"}]] [[tool:wait {"key":"b"}]] [[reply:done]]')

    async def one_asks(call: object, given: object) -> object:
        is_say = getattr(call, "name", "") == "say"
        return await ask_unless_given(call, given) if is_say else await tools_allow(call, given)  # type: ignore[arg-type]

    tools_allow = ScriptedTools().rule
    tools.rule = one_asks  # type: ignore[assignment]
    tools.gate("b").set()
    await ended(start())
    assert tools.started == {"b": 1}
    desk.begin(2, answers_to(desk.reports[-1], option))
    assert await ended(start()) is ExitCode.PASSIVATED
    assert desk.kinds() == [BEGUN, PARKED, BEGUN, ENDED]
    assert [report.start for report in desk.reports] == [1, 1, 2, 2]
    assert tools.started["a"] == runs
    assert tools.started["b"] == 1
    assert count(host, ToolResultRecorded) == 2
    assert len(model.requests) == 2


@pytest.mark.requirement("run.consent")
async def test_a_run_that_nobody_attends_never_asks(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    tools.rule = ask_unless_given
    desk = RunDesk(host, PROMPT, attended=False)
    await ended(start())
    assert desk.kinds() == [BEGUN, ENDED]
    assert not tools.started


APPENDS = 6


@pytest.mark.requirement("run.again")
@pytest.mark.parametrize(("number", "crash"), list(itertools.product(range(1, APPENDS + 1), Crash)))
async def test_a_run_that_dies_at_any_append_ends_once_and_runs_its_call_at_most_once(
    host: ScriptedHost, start: Start, tools: ScriptedTools, number: int, crash: Crash
) -> None:
    tools.rule = ask_unless_given
    desk = RunDesk(host, PROMPT)
    host.crash_at = (number, crash)
    begun, is_answered = 1, False
    ends: list[ExitCode] = []
    while ENDED not in desk.kinds():
        ends.append(await ended(start()))
        if ends[-1] is ExitCode.STREAM_LOST:
            await host.over.wait()
            host.crash_at = None
        elif desk.kinds()[-1] is PARKED:
            assert not is_answered
            is_answered = True
            begun += 1
            desk.begin(begun, answers_to(desk.reports[-1], "approve_once"))
    assert desk.kinds().count(ENDED) == 1
    assert tools.started["a"] <= 1
    assert count(host, ToolBatchStarted) == 1
    assert count(host, TurnRecorded, TurnFailed) == 1
    assert ends.count(ExitCode.STREAM_LOST) == 1


@pytest.mark.requirement("run.drain")
async def test_a_drained_run_parks_without_requests_and_goes_on_with_a_model_call(
    host: ScriptedHost, start: Start, tools: ScriptedTools, model: FakeModel
) -> None:
    desk = RunDesk(host, '[[tool:wait {"key":"a"}]] [[reply:done]]')
    process = start()
    await tools.until_started(1)
    host.command("drain", then=AfterDrain.DAEMON_RESTART.value, budget_s=10.0)
    await host.settled()
    tools.gate("a").set()
    assert await ended(process) is ExitCode.PASSIVATED
    assert desk.kinds() == [BEGUN, PARKED]
    assert desk.reports[-1].asks == ()
    desk.begin(2)
    assert await ended(start()) is ExitCode.PASSIVATED
    assert desk.reports[-1].state is ChildState.COMPLETED
    assert tools.started == {"a": 1}
    assert len(model.requests) == 2
    assert count(host, Resumed) == 1


@pytest.mark.requirement("agents.frozen")
async def test_a_run_is_shown_exactly_its_frozen_tools_and_can_call_no_other(
    host: ScriptedHost, native: Start, model: FakeModel
) -> None:
    frozen = replace(FROZEN, tools=("file_list", "file_read"))
    call = '[[tool:file_write {"path":"made","content":"x"}]]'
    desk = RunDesk(host, f"{call} [[reply:done]]", frozen=frozen)
    await ended(native())
    assert desk.reports[-1].state is ChildState.COMPLETED
    for request in model.requests:
        names = {item["function"]["name"] for item in request.body["tools"]}
        assert names == set(frozen.tools)
    (refused,) = results(host)
    assert refused.receipt.category is not OutcomeCategory.SUCCESS
    assert not [*desk.folder.rglob("made")]


@pytest.mark.requirement("agents.model-gone")
async def test_a_run_whose_model_is_gone_fails_and_asks_no_other(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    desk = RunDesk(host, "[[reply:done]]", frozen=replace(FROZEN, model="gone"))
    await ended(start())
    end = desk.reports[-1]
    assert (end.kind, end.state, end.reason) == (ENDED, ChildState.FAILED, "model_gone")
    assert sentences.MODEL_GONE in (desk.folder / "result.md").read_text()
    assert not model.requests


@pytest.mark.requirement("run.lost")
async def test_a_run_whose_owner_died_in_a_tool_is_lost_and_runs_it_no_more(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    desk = RunDesk(host, '[[tool:wait {"key":"a"}]] [[reply:done]]')
    process = start()
    await tools.until_started(1)
    host.cut()
    await ended(process)
    await ended(start())
    end = desk.reports[-1]
    assert (end.state, end.reason) == (ChildState.LOST, "owner_restarted")
    assert "Lost" in (desk.folder / "result.md").read_text()
    assert tools.started == {"a": 1}


@pytest.mark.requirement("run.cancel")
async def test_a_cancelled_run_closes_its_gate_reports_that_and_then_its_end(
    host: ScriptedHost, start: Start, tools: ScriptedTools, model: FakeModel
) -> None:
    desk = RunDesk(host, '[[tool:wait {"key":"a"}]] [[reply:done]]')
    process = start()
    await tools.until_started(1)
    host.command("close_gate")
    assert await ended(process) is ExitCode.PASSIVATED
    assert desk.kinds() == [BEGUN, CLOSED, ENDED]
    end = desk.reports[-1]
    assert (end.state, end.reason) == (ChildState.CANCELLED, "CancelledByParent")
    assert tools.ended == {"a": 1}
    assert len(model.requests) == 1
    assert "cancelled before it had a result" in (desk.folder / "result.md").read_text()


@pytest.mark.requirement("run.cancel")
async def test_a_process_whose_gate_was_closed_before_starts_nothing(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    desk = RunDesk(host, "[[reply:done]]")
    desk.begin(1, closed=True)
    assert await ended(start()) is ExitCode.PASSIVATED
    assert desk.kinds() == [BEGUN, CLOSED, ENDED]
    assert not model.requests
    assert desk.reports[-1].state is ChildState.CANCELLED


@pytest.mark.requirement("run.output-limit")
async def test_a_reply_cut_at_the_output_limit_is_kept_beside_the_failed_result(
    host: ScriptedHost, start: Start
) -> None:
    desk = RunDesk(host, "[[reply:as far as I got]] [[finish:length]]")
    await ended(start())
    end = desk.reports[-1]
    assert (end.state, end.reason) == (ChildState.FAILED, "output_limit")
    cut = desk.folder / "artifacts" / "truncated-output.md"
    assert cut.read_text() == "as far as I got"
    assert str(cut) in (desk.folder / "result.md").read_text()


@pytest.mark.requirement("run.late-words")
async def test_who_writes_while_the_end_is_being_heard_is_told_before_the_process_leaves(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    desk = RunDesk(host, "[[reply:done]]", acks=lambda report: report.kind is not ENDED)
    process = start()
    await desk.until(ENDED)
    write(desk, "one more thing")
    desk.acknowledge()
    assert await ended(process) is ExitCode.PASSIVATED
    told = [event.note for event in host.journal.events() if isinstance(event, TurnFailed)]
    assert told == [sentences.RUN_OVER]
    assert len(model.requests) == 1


@pytest.mark.requirement("run.late-words")
async def test_who_wrote_between_two_processes_of_a_run_that_is_over_is_told_by_the_next(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    desk = RunDesk(host, "[[reply:done]]", acks=lambda report: report.kind is not ENDED)
    process = start()
    await desk.until(ENDED)
    host.cut()
    await ended(process)
    host.journal.admit("anybody there?")
    desk.acks = lambda _report: True
    assert await ended(start()) is ExitCode.PASSIVATED
    told = [event.note for event in host.journal.events() if isinstance(event, TurnFailed)]
    assert told == [sentences.RUN_OVER]
    assert desk.kinds().count(ENDED) == 2
    assert len(model.requests) == 1


@pytest.mark.requirement("run.reports")
async def test_a_run_delivers_to_no_channel(host: ScriptedHost, start: Start) -> None:
    RunDesk(host, "[[reply:done]]")
    await ended(start())
    assert [row for append in host.seen.appends for row in append.outbox] == []
    assert host.journal.events()[0].channel is SourceKind.CHILD  # type: ignore[union-attr]


@pytest.mark.requirement("run.people")
async def test_a_person_who_writes_into_a_run_joins_it_and_does_not_end_it(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    desk = RunDesk(host, '[[tool:wait {"key":"a"}]] [[reply:done]]')
    process = start()
    await tools.until_started(1)
    write(desk, "look at b too")
    await host.settled()
    tools.gate("a").set()
    await ended(process)
    assert desk.kinds() == [BEGUN, ENDED]
    assert desk.reports[-1].state is ChildState.COMPLETED
