"""Sessions in the catalog: made once, reset into a new life, deleted, and what work is due."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from netclaw.core.authority import Audience, SourceKind
from netclaw.core.errors import DrainingError, NotFoundError, StaleIncarnationError
from netclaw.core.ids import CallId, SessionId, TurnId
from netclaw.core.session.consent_events import (
    AnswerDismissed,
    ConsentAnswered,
    ConsentWithdrawn,
    Dismissal,
    Withdrawal,
)
from netclaw.core.session.events import (
    AnswerAdmitted,
    Compacted,
    CrashRecorded,
    OutputStarted,
    Passivated,
    ResetReason,
    SessionCreated,
    SessionEvent,
    SessionKind,
    SessionReset,
    TitleSet,
    ToolBatchStarted,
    ToolResultRecorded,
)
from netclaw.core.settings import SupervisionSettings
from netclaw.core.supervision import DeathCause
from netclaw.core.tool_call import OutcomeCategory, ToolReceipt, ToolResult
from netclaw.ports.crashes import CrashReport
from netclaw.ports.journal import SnapshotDraft
from netclaw.wire.journal_codec import encode_event
from tests.contracts.journal_world import OTHER, SESSION, World, failed, recorded, started

CRASHED = CrashReport(cause=DeathCause.CRASH, exit_status=-9, at=1, settings=SupervisionSettings())
CRASH = encode_event(CrashRecorded(exit_status=-9, turn_id=None, attempt=1))
CALL = CallId("c1")
ANSWER = encode_event(AnswerAdmitted(call_id=CALL, option="once", answerer="me"))
RESULT = ToolResult(call_id=CALL, text="x", receipt=ToolReceipt(category=OutcomeCategory.SUCCESS))
SNAPSHOT = SnapshotDraft(codec="json/1", payload=b"{}", is_mandatory=True)


@pytest.mark.requirement("store.catalog")
async def test_a_session_is_made_once_and_keeps_its_binding(journal_world: World) -> None:
    world = journal_world
    record, is_new = await world.create(OTHER, parent=SESSION)
    assert is_new
    assert record == await world.record(OTHER)
    assert (record.kind, record.channel) == (SessionKind.CHILD, SourceKind.SLACK)
    assert (record.audience, record.parent) == (Audience.TEAM, SESSION)
    assert (record.storage_root, record.storage_layout) == (f"/home/x/{OTHER}", 1)
    assert (record.life, record.incarnation, record.head) == (1, 0, 1)
    assert (record.title, record.is_quarantined, record.open_turn) == ("", False, None)
    assert await world.events(OTHER) == [
        SessionCreated(
            session_id=OTHER,
            kind=SessionKind.CHILD,
            channel=SourceKind.SLACK,
            audience=Audience.TEAM,
            life=1,
            parent=SESSION,
        )
    ]
    world.clock.advance(5)
    assert await world.create(OTHER) == (record, False)
    await world.stop()
    assert await world.create(OTHER) == (record, False)
    assert world.seqs_published(OTHER) == [1]


@pytest.mark.requirement("store.catalog")
async def test_the_catalog_follows_title_and_activity(journal_world: World) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    world.clock.advance(60)
    await world.append(start, TitleSet(title="Files", actor="model"))
    at = world.clock.now_ms()
    world.clock.advance(60)
    await world.append(start, Passivated(snapshot_seq=3), head=2, snapshot=SNAPSHOT)
    record = await world.record()
    assert (record.title, record.last_activity_at) == ("Files", at)
    assert record.created_at == at - 60_000
    world.clock.turn_back(600)
    await world.admit()
    assert (await world.record()).last_activity_at == at, "activity never goes back"


@pytest.mark.requirement("store.catalog")
async def test_sessions_are_listed_in_id_order_page_by_page(journal_world: World) -> None:
    world = journal_world
    names = ["z", "b", "É", "a/1", "B", "\U0001f680"]
    for name in names:
        await world.create(SessionId(name))
    seen: list[str] = []
    after = ""
    while page := await world.journal.list_sessions(limit=2, after_id=after):
        assert len(page) <= 2
        seen += [record.session_id for record in page]
        after = seen[-1]
    assert seen == sorted(names, key=str.encode)
    assert await world.journal.get_session(SessionId("missing")) is None


@pytest.mark.requirement("store.reset")
async def test_a_reset_starts_a_new_life_with_nothing_open(journal_world: World) -> None:
    world = journal_world
    await world.create()
    first, _ = await world.admit(), await world.admit()
    start = await world.start()
    await world.append(start, started("t1", first.input_id), TitleSet(title="x", actor="y"))
    await world.journal.append_own(SESSION, (ANSWER,), at=1)
    record = await world.journal.reset_session(SESSION, at=world.clock.now_ms())
    assert record == await world.record()
    assert (record.life, record.head, record.incarnation) == (2, 7, start.incarnation + 1)
    assert (record.open_turn, record.pending_inputs, record.title) == (None, 0, "")
    assert (await world.events())[-1] == SessionReset(reason=ResetReason.OPERATOR, life=2)
    assert await world.outcomes() == ["closed", "closed"]
    assert not await world.journal.has_runnable_work(SESSION)
    assert world.seqs_published() == [1, 2, 3, 4, 5, 6, 7]
    with pytest.raises(StaleIncarnationError):
        await world.append(start, OutputStarted(turn_id=TurnId("t1"), round=0), head=7)


@pytest.mark.requirement("store.delete")
async def test_a_deleted_session_leaves_nothing_but_its_life(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await world.admit(message="m1")
    await world.journal.reset_session(SESSION, at=1)
    await world.journal.delete_session(SESSION)
    assert await world.journal.get_session(SESSION) is None
    assert await world.events() == []
    assert await world.journal.find_input(SESSION, "m1") is None
    with pytest.raises(NotFoundError):
        await world.journal.delete_session(SESSION)
    await world.stop()
    record, is_new = await world.create()
    assert (is_new, record.life, record.head) == (True, 3, 1)
    assert not (await world.admit(message="m1")).is_duplicate
    assert await world.journal.check_integrity(is_full=True) is None


@pytest.mark.requirement("store.runnable-work")
async def test_an_unconsumed_input_is_work(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await world.create(OTHER)
    assert await world.journal.runnable_sessions() == ()
    admission = await world.admit()
    assert await world.journal.runnable_sessions() == (SESSION,)
    await world.die()
    assert await world.journal.runnable_sessions() == (SESSION,)
    start = await world.start()
    turn = started("t1", admission.input_id)
    await world.append(start, turn, recorded("t1", admission.input_id))
    assert not await world.journal.has_runnable_work(SESSION)
    head = (await world.record()).head
    await world.append(start, Passivated(snapshot_seq=head + 1), head=head, snapshot=SNAPSHOT)
    assert not await world.journal.has_runnable_work(SESSION)
    assert not await world.journal.has_runnable_work(SessionId("missing"))


@pytest.mark.requirement("store.runnable-work")
async def test_an_open_turn_is_work(journal_world: World) -> None:
    world = journal_world
    await world.create()
    admission = await world.admit()
    start = await world.start()
    await world.append(start, started("t1", admission.input_id))
    await world.die()
    assert await world.journal.has_runnable_work(SESSION)
    await world.journal.append_own(SESSION, (encode_event(failed("t1", admission.input_id)),), at=1)
    assert not await world.journal.has_runnable_work(SESSION)


@pytest.mark.requirement("store.runnable-work")
@pytest.mark.parametrize("way", ["launch", "result", "end", "answered", "withdrawn", "dismissed"])
async def test_an_answer_without_its_launch_is_work(journal_world: World, way: str) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    await world.journal.append_own(SESSION, (ANSWER, ANSWER), at=1)
    assert await world.journal.has_runnable_work(SESSION)
    await world.die()
    assert await world.journal.has_runnable_work(SESSION)
    turn = TurnId("t1")
    other = ToolBatchStarted(turn_id=turn, call_ids=(CallId("c2"),))
    await world.append(start, other, head=3)
    assert await world.journal.has_runnable_work(SESSION)
    ways: dict[str, SessionEvent] = {
        "launch": ToolBatchStarted(turn_id=turn, call_ids=(CALL,)),
        "result": ToolResultRecorded(turn_id=turn, result=RESULT),
        "end": failed("t1", closed=(CALL,)),
        "answered": ConsentAnswered(turn_id=turn, call_id=CALL, option="once", answerer="me"),
        "withdrawn": ConsentWithdrawn(turn_id=turn, call_id=CALL, reason=Withdrawal.TURN_STOPPED),
        "dismissed": AnswerDismissed(
            call_id=CALL, option="once", answerer="me", reason=Dismissal.NOT_OPEN
        ),
    }
    await world.append(start, ways[way], head=4)
    assert not await world.journal.has_runnable_work(SESSION)


@pytest.mark.requirement("store.runnable-work")
async def test_the_end_of_a_turn_and_a_dismissal_leave_other_answers(journal_world: World) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    later = AnswerAdmitted(call_id=CALL, option="refuse", answerer="you")
    await world.journal.append_own(SESSION, (ANSWER, encode_event(later)), at=1)
    dismissed = AnswerDismissed(
        call_id=CALL, option="once", answerer="me", reason=Dismissal.NOT_THEIRS
    )
    await world.append(start, dismissed, failed("t1", closed=(CallId("c2"),)), head=3)
    assert await world.journal.has_runnable_work(SESSION)
    await world.append(start, recorded("t2"), head=5)
    assert await world.journal.has_runnable_work(SESSION)
    await world.append(start, replace(dismissed, option="refuse", answerer="you"), head=6)
    assert not await world.journal.has_runnable_work(SESSION)


@pytest.mark.requirement("store.runnable-work")
async def test_a_quarantined_session_is_not_started(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await world.admit()
    await world.journal.set_quarantined(SESSION, is_quarantined=True)
    assert await world.journal.runnable_sessions() == ()
    assert not await world.journal.has_runnable_work(SESSION)
    assert (await world.record()).is_quarantined
    await world.admit()
    await world.stop()
    assert (await world.journal.counts()).quarantined == 1
    await world.journal.set_quarantined(SESSION, is_quarantined=False)
    assert await world.journal.runnable_sessions() == (SESSION,)


@pytest.mark.requirement("store.held-starts")
async def test_a_start_that_two_deaths_cut_off_is_known(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await world.create(OTHER)
    assert await world.journal.held_starts() == ()
    for held in (1, 2):
        await world.start()
        await world.start(OTHER)
        await world.journal.finish_start(OTHER)
        await world.die()
        assert await world.journal.held_starts() == ((SESSION, held),)


@pytest.mark.requirement("store.held-starts")
async def test_starts_of_the_same_moment_are_counted(journal_world: World) -> None:
    world = journal_world
    await world.create()
    answers = await asyncio.gather(world.start(), world.journal.held_starts(), world.start())
    assert answers[1] == ((SESSION, 1),)
    await world.die()
    assert await world.journal.held_starts() == ((SESSION, 2),)


@pytest.mark.requirement("store.held-starts")
async def test_a_start_that_ended_in_any_other_way_counts_nothing(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await world.start()
    await world.die()
    assert await world.journal.held_starts() == ((SESSION, 1),)
    await world.die()
    assert await world.journal.held_starts() == (), "no start was in progress at this death"
    await world.start()
    await world.journal.record_crash(SESSION, CRASHED)
    await world.die()
    assert await world.journal.held_starts() == ()
    await world.start()
    await world.stop()
    assert await world.journal.held_starts() == (), "an orderly stop is no death"


@pytest.mark.requirement("store.catalog")
async def test_totals_count_every_life(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await world.create(OTHER)
    first, second, _ = [await world.admit() for _ in range(3)]
    start = await world.start()
    await world.append(start, started("t1", first.input_id), recorded("t1", first.input_id))
    head = (await world.record()).head
    await world.append(start, failed("t2", second.input_id), head=head)
    counts = await world.journal.counts()
    assert (counts.sessions, counts.admitted_inputs, counts.pending_inputs) == (2, 3, 1)
    assert (counts.turns_completed, counts.turns_failed, counts.outbox_waiting) == (1, 1, 0)
    await world.journal.reset_session(SESSION, at=1)
    counts = await world.journal.counts()
    assert (counts.turns_completed, counts.admitted_inputs, counts.pending_inputs) == (1, 3, 0)
    assert (await world.record()).turns == 0


@pytest.mark.requirement("operator.context-use")
async def test_the_catalog_says_how_full_a_context_is(journal_world: World) -> None:
    world = journal_world
    await world.create()
    assert (await world.record()).context_tokens == 0
    start = await world.start()
    await world.append(start, started("t1"), recorded("t1", context_tokens=900))
    head = (await world.record()).head
    await world.append(start, started("t2"), recorded("t2"), head=head)
    assert (await world.record()).context_tokens == 900, "an end without a count says nothing new"
    compacted = Compacted(
        kept_from_seq=0, notes="", tokens_before=900, tokens_after=40, trigger="threshold"
    )
    await world.append(start, compacted, head=(await world.record()).head)
    assert (await world.record()).context_tokens == 40
    await world.journal.reset_session(SESSION, at=1)
    assert (await world.record()).context_tokens == 0


async def test_every_write_to_an_unknown_session_is_refused(journal_world: World) -> None:
    journal = journal_world.journal
    for write in (
        journal.append_own(SESSION, (CRASH,), at=1),
        journal.begin_incarnation(SESSION, at=1),
        journal.finish_start(SESSION),
        journal.record_crash(SESSION, CRASHED),
        journal.set_quarantined(SESSION, is_quarantined=True),
        journal.reset_session(SESSION, at=1),
        journal.delete_session(SESSION),
    ):
        with pytest.raises(NotFoundError):
            await write
    assert await journal.counts() is not None


async def test_a_probe_writes_and_a_closed_store_refuses(journal_world: World) -> None:
    world = journal_world
    await world.journal.probe_write()
    assert await world.journal.check_integrity(is_full=False) is None
    closed = world.journal
    await world.stop()
    await closed.close()
    with pytest.raises(DrainingError):
        await closed.probe_write()
    with pytest.raises(DrainingError):
        await closed.get_session(SESSION)
