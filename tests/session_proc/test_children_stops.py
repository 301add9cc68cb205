"""A parent's process and its runs when somebody has to consent, stops, or dies."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import RunId
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_effects import ReportKind
from netclaw.core.session.child_events import (
    ChildAccepted,
    ChildEnded,
    ChildParked,
    ChildResultDelivered,
    ChildResumed,
    ChildState,
)
from netclaw.core.settings import SessionSettings
from netclaw.core.tool_call import OutcomeCategory
from netclaw.ports.children import (
    ChildDrain,
    ChildOrder,
    ChildWord,
)
from netclaw.wire import children as wire
from tests.fakes.model import FakeModel
from tests.session_proc.conftest import Start
from tests.session_proc.host import Crash, ScriptedHost
from tests.session_proc.parents import (
    Supervisor,
    results,
    spawning,
    with_a_run,
)


@pytest.mark.requirement("parent.pause")
@pytest.mark.requirement("agents.events")
async def test_a_parked_run_pauses_the_session_until_its_answer_starts_it_anew(
    host: ScriptedHost, native: Start, supervisor: Supervisor, model: FakeModel
) -> None:
    native()
    await with_a_run(host, supervisor)
    supervisor.park()
    await supervisor.recorded(ChildParked)
    host.admit(f"{spawning('more')} [[reply:then not]]")
    await host.turn_completed(2)
    block = model.requests[-1].body["messages"]
    notice = f"[child-runs]\n- {supervisor.run_id} worker: Parked, waits for a person's consent"
    assert notice in str([item["content"] for item in block]).replace("\\n", "\n")
    assert "say aloud" not in str(block), "what it asks for is for people alone"
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
    host: ScriptedHost, native: Start, supervisor: Supervisor
) -> None:
    process = native()
    await with_a_run(host, supervisor)
    supervisor.park()
    await supervisor.recorded(ChildParked)
    host.command("passivate", reason="room")
    async with asyncio.timeout(10):
        assert await process is ExitCode.PASSIVATED
    await host.over.wait()
    supervisor.answer()
    native()
    await supervisor.until(wire.ASK_START, 2)
    assert supervisor.orders[-1].start == 2
    assert len(supervisor.orders[-1].answers) == 1


@pytest.mark.requirement("parent.drain")
async def test_a_drain_parks_the_runs_and_the_next_process_resumes_them(
    host: ScriptedHost, native: Start, supervisor: Supervisor
) -> None:
    process = native()
    await with_a_run(host, supervisor)
    host.command("drain", then=AfterDrain.DAEMON_RESTART.value, budget_s=10.0)
    word = await supervisor.until(wire.ASK_DRAIN)
    assert isinstance(word, ChildDrain)
    assert (word.start, word.budget_s) == (1, 9.0)
    assert word.then is AfterDrain.DAEMON_RESTART
    assert not process.done()
    supervisor.report(ReportKind.PARKED)
    async with asyncio.timeout(10):
        assert await process is ExitCode.PASSIVATED
    assert supervisor.count(ChildParked) == 1
    await host.over.wait()
    native()
    await supervisor.until(wire.ASK_START, 2)
    assert supervisor.orders[-1].start == 2
    assert supervisor.count(ChildResumed) == 1


@pytest.mark.requirement("parent.drain")
async def test_a_run_that_does_not_park_in_time_is_killed_and_lost(
    host: ScriptedHost, native: Start, supervisor: Supervisor
) -> None:
    process = native()
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
    host: ScriptedHost, native: Start, supervisor: Supervisor, number: int, crash: Crash
) -> None:
    """The run says the same to each process until it is acknowledged, as a real one does."""
    host.crash_at = (number, crash)
    host.journal.admit(f"{spawning()} [[reply:handed over]]")

    def carry(order: ChildOrder) -> None:
        supervisor.report(ReportKind.BEGUN, start=order.start)
        supervisor.end(start=order.start)

    supervisor.on_order = carry
    async with asyncio.timeout(10):
        first = native()
        done = asyncio.create_task(_delivered(supervisor))
        await asyncio.wait((first, done), return_when=asyncio.FIRST_COMPLETED)
    if first.done():
        await host.over.wait()
        host.crash_at = None
        native()
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
    word = ChildDrain(run_id=RunId("r"), start=3, budget_s=2.0, then=AfterDrain.PARENT_STOP)
    assert wire.decode(wire.encode(word), ChildDrain) == word
    with pytest.raises(Exception, match="Unicode"):
        wire.encode(ChildWord(run_id=RunId("\ud800")))


def test_the_settings_know_whether_agents_are_offered() -> None:
    assert SessionSettings().are_agents_offered
