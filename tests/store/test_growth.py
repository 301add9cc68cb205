"""What would grow or block over weeks: texts of delivered replies, and whole sessions at once."""

from __future__ import annotations

import asyncio

import apsw
import pytest

from netclaw.core.authority import DeliveryTarget, SourceKind
from netclaw.core.ids import SessionId, TurnId
from netclaw.core.session.events import OutboxRow, TitleSet
from netclaw.ports.journal import NewSession
from netclaw.store.deletion import PIECE_ROWS, bury
from netclaw.wire.journal_codec import encode_event
from tests.contracts.journal_world import OTHER, SESSION, SqliteWorld

REPLY = OutboxRow(
    target=DeliveryTarget(channel=SourceKind.SLACK, address="C1"),
    text="a long reply",
    turn_id=TurnId("t"),
    input_ids=(),
)
TITLE = encode_event(TitleSet(title="t", actor="model"))


def look(world: SqliteWorld, sql: str) -> list[tuple[object, ...]]:
    """Read the file from outside."""
    connection = apsw.Connection(str(world.path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [tuple(row) for row in connection.execute(sql)]
    finally:
        connection.close()


@pytest.mark.requirement("store.growth")
async def test_a_delivered_reply_keeps_no_text_and_a_failed_one_does(
    sqlite_world: SqliteWorld,
) -> None:
    journal = sqlite_world.journal
    for failure in ("", "no channel"):
        await journal.append_own(SESSION, (TITLE,), at=1, outbox=(REPLY,))
        (item,) = await journal.claim_outbox("slack", limit=1, claimant="a", at=1)
        await journal.confirm_outbox(
            item.row_id, claimant="a", external_id="x", failure=failure, next_attempt_at=0
        )
    rows = look(sqlite_world, "SELECT state, text FROM outbox ORDER BY id")
    assert rows == [("delivered", ""), ("failed", "a long reply")]


async def fill(world: SqliteWorld, session_id: SessionId, rows: int) -> None:
    """Give a session many rows of every kind."""
    await world.admit(message="m1", session_id=session_id)
    await world.journal.append_own(session_id, (TITLE,) * rows, at=1, outbox=(REPLY,))


@pytest.mark.requirement("store.growth")
async def test_a_large_session_is_removed_in_pieces_between_which_others_write(
    sqlite_world: SqliteWorld,
) -> None:
    world = sqlite_world
    await world.create(OTHER)
    await fill(world, OTHER, PIECE_ROWS * 6)
    before = world.transactions()
    deleting = asyncio.ensure_future(world.journal.delete_session(OTHER))
    await asyncio.sleep(0)
    while not deleting.done() and world.transactions() < before + 3:
        await world.admit()
        if await world.journal.get_session(OTHER) is None:
            break
    assert not deleting.done(), "others wrote before it was through"
    listed = await world.journal.list_sessions(limit=9)
    assert [record.session_id for record in listed] == [SESSION]
    assert (await world.journal.counts()).sessions == 1
    assert (await world.journal.counts()).outbox_waiting == 0
    await deleting
    assert world.transactions() - before >= 7
    assert look(world, "SELECT DISTINCT session FROM journal") == [(1,)]
    assert await world.journal.check_integrity(is_full=True) is None


@pytest.mark.requirement("store.growth")
async def test_a_deletion_that_was_cut_off_is_finished_at_the_next_start(
    sqlite_world: SqliteWorld,
) -> None:
    world = sqlite_world
    await world.create(OTHER)
    await fill(world, OTHER, PIECE_ROWS * 2)
    await world.journal._writer.submit(lambda scope: bury(scope, OTHER))
    assert await world.journal.claim_outbox("slack", limit=9, claimant="a", at=9) == ()
    new: NewSession = world.new_session(OTHER)
    record, is_new = await world.journal.create_session(new)
    assert (is_new, record.life, record.head) == (True, 2, 1)
    assert len(look(world, "SELECT 1 FROM sessions")) == 3
    await world.die()
    finishing = world.journal._deletions._finishing
    assert finishing is not None
    await finishing
    assert len(look(world, "SELECT 1 FROM sessions")) == 2
    assert look(world, "SELECT count(*) FROM outbox") == [(0,)]
    assert (await world.record(OTHER)).head == 1
    assert await world.journal.check_integrity(is_full=True) is None
