"""How child runs are parked by the supervisor: with a process, without one, and for what reason."""

from __future__ import annotations

import pytest

from netclaw.core.ids import RunId
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_effects import ReportKind
from netclaw.core.settings import DaemonSettings
from netclaw.supervisor.live_session import EndReason
from tests.supervisor.runs import CHILD, DRAIN_S, RUN, Stand, within
from tests.supervisor.world import InProcess

OTHER = RunId("run-two")


@pytest.mark.requirement("children.drain")
async def test_a_run_that_is_told_to_park_has_no_process_after_that() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        await parent.drain()
        command = await within(child.commands.get())
        assert (command.kind, command.budget_s) == ("drain", DRAIN_S)
        heard = await child.say(ReportKind.PARKED)
        await parent.acknowledge(await parent.report())
        await within(heard)
        child.leave()
        await stand.until_gone(CHILD)
        assert not parent.has_report


@pytest.mark.requirement("children.drain")
async def test_a_run_that_dies_while_it_parks_is_parked() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        await parent.drain()
        child.peer.process.kill()
        report = await parent.report()
        assert (report.kind, report.asks, report.start) == (ReportKind.PARKED, (), 1)
        await stand.until_gone(CHILD)
        assert not stand.has_process(CHILD)


@pytest.mark.requirement("children.drain")
async def test_a_run_without_a_process_parks_at_once() -> None:
    async with InProcess(daemon=DaemonSettings(max_live_children=1)) as world:
        stand = Stand(world)
        parent = await stand.parent(RUN, OTHER)
        await parent.start(1, RUN)
        await stand.process(CHILD)
        await parent.start(1, OTHER)
        await parent.drain(OTHER)
        report = await parent.report()
        assert (report.run_id, report.kind) == (OTHER, ReportKind.PARKED)
        await parent.acknowledge(report)
        assert not (await parent.start(2, OTHER)).error_code, "it can go on after that"


@pytest.mark.requirement("children.drain")
async def test_a_run_that_was_not_asked_for_yet_is_parked() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent = await stand.parent(RUN)
        await parent.drain()
        report = await parent.report()
        assert (report.run_id, report.start, report.kind) == (RUN, 1, ReportKind.PARKED)
        await parent.acknowledge(report)
        await parent.start(2)
        child = await stand.process(CHILD)
        await child.say(ReportKind.PARKED)
        await parent.acknowledge(await parent.report())
        await parent.drain(start=3)
        report = await parent.report()
        assert (report.start, report.kind) == (3, ReportKind.PARKED), "its last start is another"


@pytest.mark.requirement("children.drain")
@pytest.mark.parametrize(
    ("then", "reason"),
    [
        (AfterDrain.PARENT_STOP, EndReason.DRAIN),
        (AfterDrain.SESSION_RESTART, EndReason.DRAIN),
        (AfterDrain.DAEMON_STOP, EndReason.DAEMON_STOP),
        (AfterDrain.DAEMON_RESTART, EndReason.DAEMON_STOP),
    ],
)
async def test_a_run_parks_for_the_reason_of_its_session(
    then: AfterDrain, reason: EndReason
) -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        await parent.drain(then=then)
        assert (await within(child.commands.get())).then == then
        live = world.supervisor.router.slot(CHILD).live
        assert live is not None
        assert live.end_reason is reason
