"""Child runs in the supervisor: their starts, their reports, and the words of their parents."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.core.ids import RunId, SessionId
from netclaw.core.session.child_control import CANCELLED_BY_PARENT
from netclaw.core.session.child_effects import ChildAnswer, ReportKind
from netclaw.core.session.child_events import ChildState
from netclaw.core.settings import DaemonSettings, SupervisionSettings
from netclaw.ports.children import ChildReport
from netclaw.supervisor import children
from netclaw.supervisor.slot import SlotState
from netclaw.wire import children as said
from tests.supervisor.runs import CALL, CHILD, PARENT, RUN, Hand, Stand, within
from tests.supervisor.world import InProcess

OTHER = RunId("run-two")
OTHER_CHILD = SessionId(f"{PARENT}/sub/{OTHER}")


@pytest.mark.requirement("children.own-process")
async def test_a_run_is_a_process_of_its_own_session_in_its_parents_folders() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        welcome = child.peer.welcome
        assert (child.role.run_id, child.role.start, child.role.is_gate_closed) == (RUN, 1, False)
        assert [row.type for row in welcome.tail] == [
            *("SessionCreated", "ChildFrozen", "InputAdmitted")
        ]
        above = parent.peer.welcome
        assert welcome.storage_root == f"{above.storage_root}/subagents/{RUN}"
        key, _, letter = welcome.storage_tmp.rpartition("/")
        assert above.storage_tmp == f"{key}/p"
        assert letter.startswith("c")
        assert len(letter) == 9
        assert not above.HasField("child")


@pytest.mark.requirement("children.places")
async def test_runs_have_places_beside_those_of_sessions_and_take_them_in_order() -> None:
    limits = DaemonSettings(max_live_sessions=1, max_live_children=1)
    async with InProcess(daemon=limits) as world:
        stand = Stand(world)
        parent = await stand.parent(RUN, OTHER)
        await parent.start(1, RUN)
        first = await stand.process(CHILD)
        await parent.start(1, OTHER)
        assert not stand.has_process(OTHER_CHILD)
        await first.say(ReportKind.ENDED)
        await parent.take_end()
        assert not stand.has_process(OTHER_CHILD)
        first.leave()
        await stand.process(OTHER_CHILD)


@pytest.mark.requirement("children.start-once")
async def test_the_same_start_is_the_same_process() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, _ = await stand.both()
        assert not (await parent.start()).error_code
        assert not stand.has_process(CHILD)
        assert (await world.events(CHILD)) == ["SessionCreated", "ChildFrozen", "InputAdmitted"]


@pytest.mark.requirement("children.start-refused")
async def test_a_run_that_is_not_on_record_gets_no_process() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent = await stand.parent()
        assert (await parent.start()).error_code == "not_found"
        assert not stand.has_process(CHILD)


@pytest.mark.requirement("children.reports")
async def test_a_report_is_acknowledged_when_the_parent_has_it_on_record() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        heard = await child.say(ReportKind.BEGUN)
        report = await parent.report()
        assert (report.run_id, report.start, report.kind) == (RUN, 1, ReportKind.BEGUN)
        assert not heard.done()
        await parent.acknowledge(report)
        assert not (await within(heard)).error_code


@pytest.mark.requirement("children.reports")
async def test_what_was_not_acknowledged_is_said_to_each_new_process_of_the_parent() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        heard = await child.say(ReportKind.BEGUN)
        await parent.report()
        parent.peer.process.kill()
        parent = await stand.process(PARENT)
        assert (await parent.report()).kind is ReportKind.BEGUN
        parent.peer.process.kill()
        parent = await stand.process(PARENT)
        report = await parent.report()
        await parent.acknowledge(report)
        await within(heard)
        assert child.peer.process.is_alive, "the death of a parent's process is no end of its runs"
        parent.peer.process.kill()
        parent = await stand.process(PARENT)
        last = await child.say(ReportKind.ENDED)
        assert (await parent.report()).kind is ReportKind.ENDED
        assert not last.done()


@pytest.mark.requirement("children.reports")
async def test_a_report_starts_its_parent() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        parent.peer.process.kill()
        parent = await stand.process(PARENT)
        parent.leave()
        await child.say(ReportKind.ENDED, state=ChildState.COMPLETED, result_path="/r")
        again = await stand.process(PARENT)
        report = await again.report()
        assert (report.state, report.result_path) == (ChildState.COMPLETED, "/r")


@pytest.mark.requirement("children.backoff")
async def test_a_run_that_crashes_comes_back_by_itself_and_says_it_again() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        await child.say(ReportKind.BEGUN)
        report = await parent.report()
        child.peer.process.kill()
        child = await stand.process(CHILD)
        assert child.role.start == 1
        heard = await child.say(ReportKind.BEGUN)
        assert await parent.report() == report
        await parent.acknowledge(report)
        await within(heard)
        assert not stand.has_process(PARENT)
        assert (await world.events(CHILD)).count("CrashRecorded") == 1


@pytest.mark.requirement("children.speaks-for")
async def test_a_run_that_crashes_for_ever_is_reported_as_failed_once() -> None:
    rules = SupervisionSettings(backoff_s=(0.0,), quarantine_crashes=3)
    async with InProcess(supervision=rules) as world:
        stand = Stand(world)
        parent, child = await stand.both()
        for _ in range(2):
            child.peer.process.kill()
            child = await stand.process(CHILD)
        child.peer.process.kill()
        report = await parent.report()
        assert (report.kind, report.state) == (ReportKind.ENDED, ChildState.FAILED)
        assert report.reason == "quarantine"
        parent.peer.process.kill()
        parent = await stand.process(PARENT)
        assert await parent.report() == report
        await parent.start()
        assert not stand.has_process(CHILD)
        await parent.acknowledge(report)
        await stand.until_gone(CHILD)
        assert not parent.has_report


@pytest.mark.requirement("children.start-once")
async def test_a_later_start_waits_for_the_process_before_and_hands_in_the_answers() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        heard = await child.say(ReportKind.PARKED)
        await parent.acknowledge(await parent.report())
        await within(heard)
        answer = ChildAnswer(call_id=CALL, option="deny", answerer="operator")
        starting = asyncio.ensure_future(parent.start(2, RUN, answer))
        assert not stand.has_process(CHILD)
        child.leave()
        await within(starting)
        child = await stand.process(CHILD)
        assert child.role.start == 2
        assert [row.type for row in child.peer.welcome.tail][-1] == "AnswerAdmitted"
        late = await child.ask(
            said.ASK_REPORT, ChildReport(run_id=RUN, start=1, kind=ReportKind.BEGUN)
        )
        await within(late)
        assert not parent.has_report, "what an earlier process says is nobody's"


@pytest.mark.requirement("children.start-once")
async def test_a_process_that_stays_after_its_last_word_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(children, "LEAVES_WITHIN_S", 0.05)
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        await child.say(ReportKind.PARKED)
        await parent.acknowledge(await parent.report())
        await parent.start(2)
        assert not child.peer.process.is_alive
        child = await stand.process(CHILD)
        await child.say(ReportKind.ENDED)
        await parent.take_end()
        await stand.until_gone(CHILD)
        assert not child.peer.process.is_alive


@pytest.mark.requirement("children.gate")
async def test_a_cancelled_run_that_dies_is_over() -> None:
    rules = SupervisionSettings(backoff_s=(3600.0,))
    async with InProcess(supervision=rules) as world:
        stand = Stand(world)
        parent, child = await stand.both()
        await parent.word(said.ASK_CLOSE)
        assert (await within(child.commands.get())).kind == said.COMMAND_CLOSE_GATE
        child.peer.process.kill()
        await assert_cancelled(parent)
        await stand.until_gone(CHILD)
        assert not stand.has_process(CHILD)


async def assert_cancelled(parent: Hand, run_id: RunId = RUN) -> None:
    """The parent is told, in order, that the run starts nothing any more and is over."""
    closed = await parent.report()
    assert (closed.run_id, closed.kind) == (run_id, ReportKind.DISPATCH_CLOSED)
    ended = await parent.report()
    assert (ended.run_id, ended.kind) == (run_id, ReportKind.ENDED)
    assert (ended.state, ended.reason) == (ChildState.CANCELLED, CANCELLED_BY_PARENT)
    await parent.acknowledge(closed)
    await parent.acknowledge(ended)


@pytest.mark.requirement("children.gate")
async def test_a_cancelled_run_that_waits_for_a_place_is_over_at_once() -> None:
    async with InProcess(daemon=DaemonSettings(max_live_children=1)) as world:
        stand = Stand(world)
        parent = await stand.parent(RUN, OTHER)
        await parent.start(1, RUN)
        first = await stand.process(CHILD)
        await parent.start(1, OTHER)
        await parent.word(said.ASK_CLOSE, OTHER)
        await assert_cancelled(parent, OTHER)
        await first.say(ReportKind.ENDED)
        await parent.take_end()
        first.leave()
        await stand.until_gone(CHILD)
        assert not stand.has_process(OTHER_CHILD)


@pytest.mark.requirement("children.gate")
async def test_a_cancelled_run_in_backoff_is_over_at_once() -> None:
    rules = SupervisionSettings(backoff_s=(3600.0,))
    async with InProcess(supervision=rules) as world:
        stand = Stand(world)
        parent, child = await stand.both()
        child.peer.process.kill()
        slot = world.supervisor.router.slot(CHILD)
        await within(slot.until_state(SlotState.BACKOFF))
        await parent.word(said.ASK_CLOSE)
        await assert_cancelled(parent)
        await stand.until_gone(CHILD)
        assert not stand.has_process(CHILD)


@pytest.mark.requirement("children.gate")
async def test_a_cancel_that_is_repeated_reaches_the_process_that_is_there() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        await parent.word(said.ASK_CLOSE)
        parent.peer.process.kill()
        parent = await stand.process(PARENT)
        await parent.start()
        await parent.word(said.ASK_CLOSE)
        for _ in range(2):
            assert (await within(child.commands.get())).kind == said.COMMAND_CLOSE_GATE
        heard = await child.say(ReportKind.ENDED, state=ChildState.CANCELLED)
        await parent.take_end(ChildState.CANCELLED)
        await within(heard)
        child.leave()
        await stand.until_gone(CHILD)
        assert not parent.has_report


@pytest.mark.requirement("children.kill")
async def test_a_killed_run_says_nothing_and_does_not_come_back() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        await child.say(ReportKind.BEGUN)
        await parent.report()
        await parent.word(said.ASK_KILL)
        assert not child.peer.process.is_alive
        await stand.until_gone(CHILD)
        parent.peer.process.kill()
        again = await stand.process(PARENT)
        await again.word(said.ASK_CLOSE)
        assert not again.has_report
        assert not stand.has_process(CHILD)


@pytest.mark.requirement("children.own-process")
async def test_nobody_speaks_of_a_run_but_its_parent_and_itself() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        _, child = await stand.both()
        await world.send("stranger", "go")
        stranger = await stand.process(SessionId("stranger"))
        await stranger.word(said.ASK_KILL)
        assert child.peer.process.is_alive
        report = ChildReport(run_id=RUN, start=1, kind=ReportKind.ENDED)
        assert (await stranger.asked(said.ASK_REPORT, report)).error_code == "not_found"
