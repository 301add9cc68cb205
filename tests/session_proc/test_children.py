"""A parent's process: hands work to runs, takes their reports, tells of them, looks at them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from netclaw.core.authority import Audience
from netclaw.core.context.turn_block import LOAD_HINT
from netclaw.core.session.child_effects import CancelAnswer, ReportKind
from netclaw.core.session.child_events import (
    ChildAccepted,
    ChildCancelAdmitted,
    ChildDispatchClosed,
    ChildEnded,
    ChildResultDelivered,
    ChildState,
)
from netclaw.core.session.events import (
    InputAdmitted,
    TurnRecorded,
)
from netclaw.core.tool_call import OutcomeCategory
from netclaw.ports.children import (
    ChildAck,
    ChildCancelled,
)
from netclaw.wire import children as wire
from netclaw.wire.v1.session_host_pb2 import Committed, ToSession
from tests.fakes.model import FakeModel
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost
from tests.session_proc.journal import local_authority
from tests.session_proc.parents import (
    LOADING,
    Supervisor,
    checking,
    results,
    spawning,
    with_a_run,
)


@pytest.mark.requirement("parent.spawn")
async def test_a_run_is_on_record_before_it_starts_and_before_its_call_is_answered(
    host: ScriptedHost, native: Start, supervisor: Supervisor, model: FakeModel
) -> None:
    seen: list[list[str]] = []
    supervisor.on_order = lambda _order: seen.append(host.journal.names())
    native()
    host.admit(f"{spawning(context='be quick')} [[reply:handed over]]")
    await supervisor.until(wire.ASK_START)
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
    accepted_at = names.index("ChildAccepted")
    assert "ToolResultRecorded" in names[accepted_at:], "the answer of the call comes after it"
    assert names[:accepted_at].count("ToolResultRecorded") == 1, "that of the load alone is before"
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
    assert f"[available-subagents]\n{LOAD_HINT}\n- worker: Does what it is told." in str(block)


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
    native: Start,
    supervisor: Supervisor,
    call: dict[str, str],
    category: OutcomeCategory,
    word: str,
) -> None:
    native()
    host.admit(f"{LOADING} [[tool:spawn_agent {json.dumps(call)}]] [[reply:so be it]]")
    await host.turn_completed()
    (result,) = results(host)
    assert result.receipt.category is category
    assert word in result.text
    assert supervisor.words == []
    assert supervisor.count(ChildAccepted) == 0


@pytest.mark.requirement("agents.deferred")
async def test_the_agent_tools_are_loaded_before_they_are_shown(
    host: ScriptedHost, native: Start, supervisor: Supervisor, model: FakeModel
) -> None:
    native()
    host.admit('[[tool:spawn_agent {"agent":"worker","task":"x"}]] [[reply:no]]')
    await host.turn_completed()
    assert results(host)[0].text.startswith("There is no such tool.")
    assert supervisor.count(ChildAccepted) == 0
    host.admit(f"{spawning()} [[reply:handed over]]")
    await host.turn_completed(2)
    assert supervisor.count(ChildAccepted) == 1
    shown = [{tool["function"]["name"] for tool in r.body["tools"]} for r in model.requests]
    agents = [names & {"spawn_agent", "check_agent_run"} for names in shown]
    # At first none; after the load the one; and with a run also the tool to look at it.
    assert agents == [set(), set(), set(), {"spawn_agent"}, {"spawn_agent", "check_agent_run"}]


@pytest.mark.requirement("parent.spawn")
async def test_nothing_is_offered_where_it_is_switched_off_or_public(
    host: ScriptedHost, native: Start, supervisor: Supervisor, model: FakeModel
) -> None:
    host.settings = replace(host.settings, are_agents_offered=False)
    native()
    host.admit(f"{spawning()} [[reply:no]]")
    await host.turn_completed()
    assert "There is no such tool" in results(host)[0].text
    assert "available-subagents" not in str(model.requests[0].body)
    del supervisor


@pytest.mark.requirement("parent.spawn")
async def test_a_public_conversation_hands_nothing_over(
    host: ScriptedHost, native: Start, supervisor: Supervisor
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
    native()
    await host.turn_completed()
    assert "There is no such tool" in results(host)[0].text
    assert supervisor.words == []


@pytest.mark.requirement("parent.deliver")
async def test_an_end_is_on_record_before_it_is_acknowledged_and_told_of_once(
    host: ScriptedHost, native: Start, supervisor: Supervisor, model: FakeModel
) -> None:
    native()
    host.admit(f"{spawning()} [[reply:handed over]]")
    await supervisor.until(wire.ASK_START)
    supervisor.report(ReportKind.BEGUN)
    await host.turn_completed()
    supervisor.end()
    supervisor.end()
    await host.turn_completed(2)
    await supervisor.until(wire.ASK_ACK, 3)
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
    host: ScriptedHost, native: Start, supervisor: Supervisor, model: FakeModel
) -> None:
    native()
    host.admit(f"{spawning()} [[reply:handed over]]")
    await supervisor.until(wire.ASK_START)
    await host.turn_completed()
    supervisor.end()
    await host.turn_completed(2)
    assert "/p/made" in str(model.requests[-1].body)


@pytest.mark.requirement("parent.start-fails")
@pytest.mark.parametrize("agent_goes", [False, True])
async def test_a_run_that_cannot_be_started_ends_failed_and_is_told_of(
    host: ScriptedHost, native: Start, supervisor: Supervisor, agent_goes: bool
) -> None:
    if agent_goes:
        host.before_append = lambda append: (
            (host.folder / "agents" / "worker.md").unlink()
            if any(event.type == "ChildAccepted" for event in append.events)
            else None
        )
    else:
        supervisor.refused = "storage_full"
    native()
    host.admit(f"{spawning()} [[reply:handed over]]")
    await host.turn_completed(2)
    (end,) = (e for e in host.journal.events() if isinstance(e, ChildEnded))
    assert end.state is ChildState.FAILED
    assert end.reason == ("agent_missing" if agent_goes else "storage_full")


@pytest.mark.requirement("parent.check")
async def test_a_run_is_looked_at_and_cancelled_in_two_facts(
    host: ScriptedHost, native: Start, supervisor: Supervisor
) -> None:
    native()
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
    host: ScriptedHost, native: Start, supervisor: Supervisor
) -> None:
    native()
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
    host: ScriptedHost, native: Start, supervisor: Supervisor
) -> None:
    native()
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


@pytest.mark.requirement("parent.deliver")
async def test_the_parent_reads_the_result_and_not_what_its_run_keeps_for_itself(
    host: ScriptedHost, native: Start, supervisor: Supervisor
) -> None:
    del supervisor
    folder = host.folder / "root" / "subagents" / "r"
    (folder / "tool-calls").mkdir(parents=True)
    (folder / "result.md").write_text("it is green")
    (folder / "tool-calls" / "c1").write_text("a full result")
    native()
    reads = " ".join(
        f"[[tool:file_read {json.dumps({'path': str(folder / name)})}]]"
        for name in ("result.md", "tool-calls/c1")
    )
    host.admit(f"{reads} [[reply:read]]")
    await host.turn_completed()
    kept, report = results(host)  # what may not run has its result at once
    assert "it is green" in report.text
    assert kept.receipt.category is OutcomeCategory.ACCESS_DENIED
