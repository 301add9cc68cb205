"""What becomes of child runs when their owner ends, and what people can do about them."""

from __future__ import annotations

import asyncio

import grpc
import grpc.aio
import pytest

from netclaw.core.ids import RunId, TurnId
from netclaw.core.session.child_effects import CancelAnswer, ReportKind
from netclaw.core.session.child_events import ChildEnded, ChildParked, ChildState, ParkKind
from netclaw.core.session.consent_events import ConsentRequest, ConsentRequested
from netclaw.core.settings import DaemonSettings, SupervisionSettings
from netclaw.ports.children import ChildCancelled
from netclaw.supervisor.daemon import Wish
from netclaw.testing.people import OPERATOR
from netclaw.testing.story import NEEDS_CONSENT
from netclaw.wire import children as said
from netclaw.wire.v1 import admin_pb2, gateway_pb2
from tests.contracts.journal_world import recorded
from tests.supervisor.runs import CALL, CHILD, PARENT, RUN, Hand, Stand, within
from tests.supervisor.world import InProcess

ENDS = ("StopSession", "ResetSession", "DeleteSession")


async def leave_when_told(hand: Hand) -> None:
    """Drain as a parent without work does."""
    while (await hand.commands.get()).kind != "drain":
        pass
    hand.leave()


@pytest.mark.requirement("children.owner-gone")
@pytest.mark.parametrize("order", ENDS)
async def test_an_order_to_end_a_session_ends_its_runs(order: str) -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        leaving = asyncio.ensure_future(leave_when_told(parent))
        await child.say(ReportKind.BEGUN)
        await world.admin_call(order, PARENT)
        assert not child.peer.process.is_alive
        leaving.cancel()
        is_kept = order == "StopSession"
        assert (await world.store.get_session(CHILD) is not None) is is_kept
        await stand.until_gone(CHILD)
        assert not stand.has_process(CHILD)
        if order == "ResetSession":
            (run,) = await stand.runs()
            assert (run.state, run.reason) == ("Lost", "parent_reset")


@pytest.mark.requirement("children.owner-gone")
async def test_the_runs_of_a_quarantined_session_stop_until_it_asks_for_them_again() -> None:
    rules = SupervisionSettings(backoff_s=(0.0,), quarantine_crashes=2)
    async with InProcess(supervision=rules) as world:
        stand = Stand(world)
        parent, child = await stand.both()
        parent.peer.process.kill()
        parent = await stand.process(PARENT)
        await child.say(ReportKind.BEGUN)
        assert (await parent.report()).kind is ReportKind.BEGUN
        parent.peer.process.kill()
        await stand.until_gone(CHILD)
        assert not child.peer.process.is_alive
        await world.admin_call("RestartSession", PARENT)
        parent = await stand.process(PARENT)
        await parent.start()
        child = await stand.process(CHILD)
        assert child.role.start == 1
        await child.say(ReportKind.BEGUN)
        assert (await parent.report()).kind is ReportKind.BEGUN


@pytest.mark.requirement("children.stop-order")
async def test_at_a_stop_the_parents_have_their_runs_parked() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        world.supervisor.wish(Wish.STOP)
        command = await within(parent.commands.get())
        assert command.kind == "drain"
        assert child.commands.empty(), "its parent tells it"
        await parent.drain()
        assert (await within(child.commands.get())).kind == "drain"
        heard = await child.say(ReportKind.PARKED)
        await parent.append(ChildParked(run_id=RUN, kind=ParkKind.DRAIN))
        await parent.acknowledge(await parent.report())
        await within(heard)
        child.leave()
        parent.leave()
        await world.ended()
        await world.start()
        assert (await stand.runs())[0].state == "Parked"


@pytest.mark.requirement("children.stop-order")
@pytest.mark.parametrize(("wish", "budget_s"), [(Wish.STOP, 3.0), (Wish.RESTART, 21.0)])
async def test_a_restart_with_a_run_at_work_takes_longer(wish: Wish, budget_s: float) -> None:
    async with InProcess(daemon=DaemonSettings(drain_s=3.0)) as world:
        stand = Stand(world)
        parent, child = await stand.both()
        world.supervisor.wish(wish)
        command = await within(parent.commands.get())
        assert command.budget_s == budget_s
        parent.leave()
        await world.ended()
        assert not child.peer.process.is_alive, "no run outlives the daemon"


@pytest.mark.requirement("children.start-once")
async def test_after_the_death_of_the_daemon_a_run_starts_when_its_parent_asks() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        _, child = await stand.both()
        heard = await child.say(ReportKind.BEGUN)
        world.supervisor.wish(Wish.STOP)
        await world.until(lambda: world.supervisor.state == "draining")
        await world.stop()  # in a hurry
        await world.start()
        assert not heard.done() or heard.cancelled() or heard.exception() is not None
        parent = await stand.process(PARENT)
        assert not stand.has_process(CHILD), "it waits for its parent, not for work"
        await parent.start()
        child = await stand.process(CHILD)
        assert child.role.start == 1
        await child.say(ReportKind.BEGUN)
        assert (await parent.report()).kind is ReportKind.BEGUN
        assert (await world.events(CHILD)).count("InputAdmitted") == 1


@pytest.mark.requirement("children.purge")
async def test_the_journal_of_a_run_goes_when_the_turn_that_told_of_it_is_over() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        async with world.attached(CHILD) as watcher:
            heard = await child.say(ReportKind.ENDED)
            await parent.take_end()
            await within(heard)
            child.leave()
            await parent.tell_of("t2", RUN)
            assert await world.store.get_session(CHILD) is not None
            await parent.append(recorded("t2"))
            await watcher.until_end()
        assert await world.store.get_session(CHILD) is None
        (run,) = await stand.runs()
        assert (run.state, run.pid, run.told_at_ms > 0) == ("Completed", 0, True)


@pytest.mark.requirement("children.purge")
async def test_what_a_dead_daemon_left_of_runs_is_purged_at_the_next_start() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, _ = await stand.both()
        await parent.append(ChildEnded(run_id=RUN, state=ChildState.COMPLETED))
        await parent.tell_of("t2", RUN)
        world.supervisor.router.tell(
            on_rest=lambda _: None, on_committed=(), on_deleted=lambda _: None
        )
        await parent.append(recorded("t2"))
        assert await world.store.get_session(CHILD) is not None
        world.supervisor.wish(Wish.STOP)
        await world.until(lambda: world.supervisor.state == "draining")
        await world.stop()
        await world.start()

        async def is_gone() -> bool:
            return await world.store.get_session(CHILD) is None

        await world.until(is_gone)


async def parked(stand: Stand) -> Hand:
    """A run that waits for the consent of one call, and its parent."""
    parent, child = await stand.both()
    request = ConsentRequest(
        call_id=CALL,
        tool="shell_execute",
        display="ls",
        candidates=("ls",),
        options=NEEDS_CONSENT.options,
        requester=OPERATOR.requester,
    )
    await child.append(ConsentRequested(turn_id=TurnId("ct"), request=request))
    await child.say(ReportKind.PARKED)
    report = await parent.report()
    await parent.append(
        ConsentRequested(turn_id=TurnId("ct"), request=request, run_id=RUN),
        ChildParked(run_id=RUN, kind=ParkKind.CONSENT),
    )
    await parent.acknowledge(report)
    child.leave()
    await stand.until_gone(CHILD)
    return parent


@pytest.mark.requirement("children.consent-parent")
async def test_what_a_run_asks_is_answered_with_its_parent_whichever_is_named() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        await parked(stand)
        for named in ("", PARENT, CHILD):
            pending = await world.gateway.ListApprovals(
                gateway_pb2.ListApprovalsRequest(session_id=named), metadata=world.metadata
            )
            (row,) = pending.approvals
            assert (row.session_id, row.run_id) == (PARENT, RUN)
        other = await world.gateway.ListApprovals(
            gateway_pb2.ListApprovalsRequest(session_id=f"{PARENT}/sub/other"),
            metadata=world.metadata,
        )
        assert not other.approvals
        option = NEEDS_CONSENT.options[-1].key
        await world.gateway.AnswerApproval(
            gateway_pb2.AnswerApprovalRequest(
                session_id=CHILD, call_id=CALL, option=option, request_seq=999
            ),
            metadata=world.metadata,
        )
        assert (await world.events(PARENT))[-1] == "AnswerAdmitted"
        assert "AnswerAdmitted" not in await world.events(CHILD)
        assert not stand.has_process(CHILD), "only its parent starts it"


@pytest.mark.requirement("children.steered")
async def test_a_list_of_sessions_shows_runs_on_request_with_their_parents() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        await stand.both()
        few = await world.gateway.ListSessions(
            gateway_pb2.ListSessionsRequest(), metadata=world.metadata
        )
        assert [row.id for row in few.sessions] == [PARENT]
        more = await world.gateway.ListSessions(
            gateway_pb2.ListSessionsRequest(with_children=True), metadata=world.metadata
        )
        assert [(row.id, row.kind, row.parent) for row in more.sessions] == [
            (PARENT, "main", ""),
            (CHILD, "child", PARENT),
        ]
        detail = await world.gateway.GetSession(
            gateway_pb2.GetSessionRequest(session_id=PARENT), metadata=world.metadata
        )
        assert list(detail.children) == [CHILD]
        (run,) = await stand.runs(session_id=PARENT)
        assert (run.run_id, run.parent, run.session_id, run.agent) == (RUN, PARENT, CHILD, "helper")
        assert run.pid == (await world.row(CHILD)).pid
        assert run.folder.endswith(f"/subagents/{RUN}")
        assert await stand.runs(run_id="other") == []


@pytest.mark.requirement("children.steered")
@pytest.mark.parametrize("order", [*ENDS, "RestartSession", "CompactSession"])
async def test_a_run_is_steered_through_its_parent(order: str) -> None:
    async with InProcess() as world:
        stand = Stand(world)
        _, child = await stand.both()
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await world.admin_call(order, CHILD)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert child.peer.process.is_alive


@pytest.mark.requirement("children.steered")
async def test_the_process_of_a_run_can_be_killed_and_comes_back() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        await stand.both()
        await world.admin_call("KillSession", CHILD)
        assert (await stand.process(CHILD)).role.start == 1


@pytest.mark.requirement("children.steered")
async def test_a_person_writes_to_a_run_as_long_as_it_is_not_over() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, child = await stand.both()
        target = {"channel": "slack", "address": "C1"}
        await world.send(CHILD, "look behind you", delivery_targets=[target])
        await world.until(lambda: len(child.peer.state.buffered) == 2)
        written = child.peer.state.buffered[-1].admitted
        assert written.text == "look behind you"
        assert written.authority.delivery_targets == ()
        await child.say(ReportKind.ENDED)
        await parent.take_end()
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await world.send(CHILD, "too late")
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        child.leave()
        await stand.until_gone(CHILD)
        assert not stand.has_process(CHILD), "what it did not read starts nothing"


@pytest.mark.requirement("children.steered")
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (CancelAnswer.ADMITTED, None),
        (CancelAnswer.ALREADY, grpc.StatusCode.INVALID_ARGUMENT),
        (CancelAnswer.NOT_FOUND, grpc.StatusCode.NOT_FOUND),
    ],
)
async def test_an_operator_cancels_a_run_through_its_parent(
    answer: CancelAnswer, code: grpc.StatusCode | None
) -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent, _ = await stand.both()
        cancelling = asyncio.ensure_future(cancel(world))
        command = await within(parent.commands.get())
        assert (command.kind, command.run_id) == (said.COMMAND_CANCEL, RUN)
        told = ChildCancelled(run_id=RUN, actor=command.actor, answer=answer)
        await parent.asked(said.ASK_CANCELLED, told)
        assert await within(cancelling) is code


@pytest.mark.requirement("children.steered")
async def test_a_cancel_starts_the_parent_and_a_run_that_is_over_has_none() -> None:
    async with InProcess() as world:
        stand = Stand(world)
        parent = await parked(stand)
        parent.peer.process.kill()
        parent = await stand.process(PARENT)
        parent.leave()
        cancelling = asyncio.ensure_future(cancel(world))
        parent = await stand.process(PARENT)
        while (command := await within(parent.commands.get())).kind != said.COMMAND_CANCEL:
            pass
        await parent.append(ChildEnded(run_id=RUN, state=ChildState.CANCELLED))
        told = ChildCancelled(run_id=RUN, actor=command.actor, answer=CancelAnswer.ADMITTED)
        await parent.asked(said.ASK_CANCELLED, told)
        assert await within(cancelling) is None
        assert await cancel(world) is grpc.StatusCode.INVALID_ARGUMENT
        assert await cancel(world, RunId("other")) is grpc.StatusCode.NOT_FOUND


async def cancel(world: InProcess, run_id: RunId = RUN) -> grpc.StatusCode | None:
    """An operator cancels; the code of a refusal."""
    try:
        await world.admin.CancelRun(admin_pb2.RunRef(run_id=run_id), metadata=world.metadata)
    except grpc.aio.AioRpcError as refused:
        return refused.code()
    return None
