"""Crashes: counted on disk, judged and acted upon in the one job that records them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import DeliveryTarget, SourceKind
from netclaw.core.errors import NotFoundError
from netclaw.core.ids import TurnId
from netclaw.core.session.events import CrashRecorded, OutboxRow, TitleSet, TurnFailed
from netclaw.core.settings import SupervisionSettings
from netclaw.core.supervision import DeathCause, NextStep
from netclaw.ports.crashes import CrashReport, GiveUp
from netclaw.ports.journal import SnapshotDraft
from netclaw.wire.journal_codec import encode_event
from tests.contracts.journal_world import SESSION, World, failed, recorded, started

SETTINGS = SupervisionSettings(
    backoff_s=(0.0, 1.0, 5.0), turn_crash_limit=2, quarantine_crashes=3, quarantine_window_s=7.0
)
CRASHED = CrashReport(cause=DeathCause.CRASH, exit_status=-9, at=1, settings=SETTINGS)
REPLY = OutboxRow(
    target=DeliveryTarget(channel=SourceKind.SLACK, address="C1"),
    text="given up",
    turn_id=TurnId("t"),
    input_ids=(),
)
GIVE_UP = GiveUp(turn_id=TurnId("t"), events=(encode_event(failed("t")),), outbox=(REPLY,))


@pytest.mark.requirement("store.crash-count")
async def test_crashes_are_counted_within_their_window_and_over_restarts(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create()
    steps = []
    for at in (1000, 2000, 9000, 9000):
        outcome = await world.journal.record_crash(SESSION, replace(CRASHED, at=at))
        record = outcome.verdict.record
        steps.append((record.crashes, outcome.verdict.step, outcome.verdict.after_s))
        await world.die()
    assert steps == [
        ((1000,), NextStep.START, 0.0),
        ((1000, 2000), NextStep.START, 1.0),
        ((9000,), NextStep.START, 0.0),
        ((9000, 9000), NextStep.START, 1.0),
    ]
    await world.journal.record_crash(SESSION, replace(CRASHED, at=9001))
    assert (await world.record()).is_quarantined
    await world.journal.set_quarantined(SESSION, is_quarantined=False)
    outcome = await world.journal.record_crash(SESSION, replace(CRASHED, at=9002))
    assert outcome.verdict.record.crashes == (9002,)
    assert outcome.verdict.after_s == 0.0


@pytest.mark.requirement("store.crash-count")
async def test_an_answer_of_the_process_starts_the_backoff_anew_and_one_of_ours_does_not(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create()
    await world.journal.record_crash(SESSION, replace(CRASHED, at=1))
    start = await world.start()
    await world.append(start, started("t"), recorded("t"))
    outcome = await world.journal.record_crash(SESSION, replace(CRASHED, at=2))
    assert (outcome.verdict.after_s, outcome.verdict.record.in_a_row) == (0.0, 1)
    await world.journal.append_own(SESSION, (encode_event(failed("t")),), at=3)
    outcome = await world.journal.record_crash(SESSION, replace(CRASHED, at=4))
    assert (outcome.verdict.after_s, outcome.verdict.record.in_a_row) == (1.0, 2)


@pytest.mark.requirement("store.crash-one-job")
async def test_a_crash_too_many_gives_the_turn_up_in_the_same_transaction(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create()
    admission = await world.admit()
    start = await world.start()
    await world.append(start, started("t", admission.input_id))
    report = replace(CRASHED, give_up=GIVE_UP)
    assert (await world.journal.record_crash(SESSION, report)).attempt == 1
    assert (await world.record()).open_turn == "t"
    before, batches = world.transactions(), len(world.batches)
    outcome = await world.journal.record_crash(SESSION, replace(report, at=2))
    assert (outcome.attempt, outcome.verdict.is_poison) == (2, True)
    assert (world.transactions() - before, len(world.batches) - batches) == (1, 1)
    assert (await world.events())[-2:] == [
        CrashRecorded(exit_status=-9, turn_id=TurnId("t"), attempt=2),
        failed("t"),
    ]
    assert (await world.record()).open_turn is None
    items = await world.journal.claim_outbox("slack", limit=9, claimant="a", at=9)
    assert [item.text for item in items] == ["given up"]
    outcome = await world.journal.record_crash(SESSION, replace(report, at=20_000))
    assert (outcome.attempt, outcome.verdict.is_poison) == (0, False)


@pytest.mark.requirement("store.crash-one-job")
async def test_a_turn_that_is_not_open_any_more_is_not_given_up(journal_world: World) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    await world.append(start, started("other"))
    report = replace(CRASHED, give_up=GIVE_UP, settings=replace(SETTINGS, turn_crash_limit=1))
    assert (await world.journal.record_crash(SESSION, report)).verdict.is_poison
    assert not any(isinstance(event, TurnFailed) for event in await world.events())


@pytest.mark.requirement("store.crash-one-job")
async def test_what_cannot_be_read_is_quarantined_and_a_bad_snapshot_dropped(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create()
    await world.admit()
    start = await world.start()
    snapshot = SnapshotDraft(codec="json/1", payload=b"broken", is_mandatory=True)
    await world.append(start, TitleSet(title="t", actor="model"), snapshot=snapshot)
    head = (await world.record()).head
    await world.journal.record_crash(SESSION, replace(CRASHED, bad_snapshot=head - 1))
    kept, _ = await world.journal.read_state(SESSION)
    assert kept is not None, "that one is newer than what was looked at"
    await world.journal.record_crash(SESSION, replace(CRASHED, bad_snapshot=head))
    dropped, tail = await world.journal.read_state(SESSION)
    assert (dropped, len(tail)) == (None, head + 2)
    assert (await world.journal.runnable_sessions()) == (SESSION,)
    report = replace(CRASHED, at=90_000, is_unreadable=True)
    outcome = await world.journal.record_crash(SESSION, report)
    assert outcome.verdict.step is NextStep.QUARANTINE
    assert (await world.record()).is_quarantined
    assert (await world.journal.runnable_sessions()) == ()


async def test_a_crash_of_an_unknown_session_is_refused(journal_world: World) -> None:
    with pytest.raises(NotFoundError):
        await journal_world.journal.record_crash(SESSION, CRASHED)
