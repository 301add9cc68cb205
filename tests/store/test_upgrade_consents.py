"""Consent requests of a database from before they had a table: found again in its journal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from netclaw.core.errors import NotFoundError
from netclaw.core.ids import CallId, RunId, SessionId, TurnId
from netclaw.core.session.child_events import ChildEnded, ChildState
from netclaw.core.session.consent_events import (
    ConsentAnswered,
    ConsentEffect,
    ConsentWithdrawn,
    Withdrawal,
)
from netclaw.core.session.events import SessionEvent, ToolResultRecorded
from netclaw.core.settings import DaemonSettings, StorageSettings
from netclaw.core.tool_call import OutcomeCategory, ToolReceipt, ToolResult
from netclaw.ports.answers import AnswerRequest
from netclaw.store.store import SqliteJournalStore
from netclaw.testing.people import ALICE
from tests.contracts.journal_world import SqliteWorld, failed, recorded, started
from tests.contracts.test_journal_parked import asking
from tests.store.test_upgrade import as_version

OLD = 3
_OPEN = (
    "SELECT s.key, c.call_id, c.turn, c.run, c.seq, c.state, c.option, c.answerer, c.boundary,"
    " c.answer_seq FROM consent_requests AS c JOIN sessions AS s ON s.id = c.session"
    " WHERE c.state <> 'closed' ORDER BY s.key, c.seq"
)
TURN = TurnId("t1")


def requested(call: str, *, run: str | None = None) -> SessionEvent:
    """A request of the turn, or of a child run."""
    event = asking(CallId(call), ALICE)
    if run is None:
        return event
    return replace(event, run_id=RunId(run), turn_id=TurnId("child"))


def result(call: str) -> SessionEvent:
    """The call has its result."""
    receipt = ToolReceipt(category=OutcomeCategory.SUCCESS)
    return ToolResultRecorded(
        turn_id=TURN, result=ToolResult(call_id=CallId(call), text="r", receipt=receipt)
    )


def taken_up(call: str) -> SessionEvent:
    """The session acted on an answer."""
    return ConsentAnswered(
        turn_id=TURN,
        call_id=CallId(call),
        option="once",
        answerer="U1",
        effect=ConsentEffect.APPROVE,
    )


def withdrawn(call: str) -> SessionEvent:
    """Nobody is asked any more."""
    return ConsentWithdrawn(turn_id=TURN, call_id=CallId(call), reason=Withdrawal.TURN_STOPPED)


def over(run: str) -> SessionEvent:
    """A child run ended."""
    return ChildEnded(run_id=RunId(run), state=ChildState.COMPLETED)


STORIES: dict[str, tuple[SessionEvent, ...]] = {
    "open": (requested("c1"),),
    "two": (requested("c1"), requested("c2"), result("c1")),
    "answered": (requested("c1"), taken_up("c1")),
    "again": (requested("c1"), taken_up("c1"), requested("c1")),
    "withdrawn": (requested("c1"), withdrawn("c1")),
    "recorded": (requested("c1"), recorded("t1")),
    "failed": (requested("c1"), failed("t1")),
    "later-turn": (recorded("t0"), requested("c1")),
    "run": (requested("c1", run="r1"), failed("t1"), over("r2")),
    "run-over": (requested("c1", run="r1"), over("r1")),
    "reset": (requested("c1"),),
    "said": (requested("c1"),),
    "said-and-asked-again": (requested("c1"),),
}


def open_rows(path: Path) -> list[tuple[object, ...]]:
    """What a closed database says is not closed."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return connection.execute(_OPEN).fetchall()
    finally:
        connection.close()


async def told(path: Path) -> None:
    """Write every story into a database of today."""
    world = SqliteWorld(path)
    await world.open()
    for name, story in STORIES.items():
        session_id = SessionId(name)
        await world.create(session_id)
        start = await world.start(session_id)
        await world.append(start, started("t1"), *story)
    for name in ("said", "said-and-asked-again"):
        await world.journal.answer(
            AnswerRequest(
                session_id=SessionId(name),
                call_id=CallId("c1"),
                option="once",
                answerer="U1",
                boundary="slack:T1/C1",
                principal=ALICE.requester.principal,
                at=1,
            )
        )
    again = SessionId("said-and-asked-again")
    start = await world.start(again)
    await world.append(start, taken_up("c1"), requested("c1"))
    await world.journal.reset_session(SessionId("reset"), at=2)
    await world.close()


@pytest.mark.requirement("operator.upgrade")
@pytest.mark.requirement("approvals.pending")
@pytest.mark.parametrize("version", range(1, OLD + 1))
async def test_an_older_database_knows_what_waits_for_a_person(
    tmp_path: Path, version: int
) -> None:
    today, old = tmp_path / "today.db", tmp_path / "netclaw.db"
    await told(today)
    as_version(today, old, version)
    store = await SqliteJournalStore.open(old, StorageSettings(), DaemonSettings())
    try:
        pending = await store.pending_consents(limit=100)
        assert [item.session_id for item in pending] == [
            *("open", "two", "again", "later-turn", "run", "said-and-asked-again")
        ]
        assert (await store.counts()).open_approvals == len(pending)
    finally:
        await store.close()
    assert open_rows(old) == open_rows(today)


async def test_a_damaged_event_keeps_no_database_from_being_opened(tmp_path: Path) -> None:
    today, old = tmp_path / "today.db", tmp_path / "netclaw.db"
    await told(today)
    as_version(today, old, OLD)
    connection = apsw.Connection(str(old))
    damage = "UPDATE journal SET payload = x'7b' WHERE type = ?"
    for kind in ("ConsentRequested", "ToolResultRecorded"):
        connection.execute(damage, (kind,))
    connection.close()
    store = await SqliteJournalStore.open(old, StorageSettings(), DaemonSettings())
    try:
        assert await store.pending_consents(limit=100) == ()
        with pytest.raises(NotFoundError):
            await store.answer(
                AnswerRequest(
                    session_id=SessionId("open"),
                    call_id=CallId("c1"),
                    option="once",
                    answerer="U1",
                    boundary="slack:T1/C1",
                    principal=ALICE.requester.principal,
                    at=1,
                )
            )
    finally:
        await store.close()


async def test_a_request_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "netclaw.db"
    await told(path)
    connection = apsw.Connection(str(path))
    connection.execute(
        "UPDATE journal SET payload = x'7b' WHERE type = 'ConsentRequested' AND session IN"
        " (SELECT id FROM sessions WHERE key IN ('open', 'two'))"
    )
    connection.close()
    store = await SqliteJournalStore.open(path, StorageSettings(), DaemonSettings())
    try:
        pending = await store.pending_consents(limit=2)
        assert [item.session_id for item in pending] == ["again", "later-turn"]
    finally:
        await store.close()


async def test_what_a_deleted_session_asked_is_not_open(tmp_path: Path) -> None:
    today, old = tmp_path / "today.db", tmp_path / "netclaw.db"
    await told(today)
    as_version(today, old, OLD)
    connection = apsw.Connection(str(old))
    connection.execute("UPDATE sessions SET key = char(1) || 'deleted/' || id WHERE key = 'open'")
    connection.execute("UPDATE sessions SET is_quarantined = 1 WHERE key = 'two'")
    connection.close()
    store = await SqliteJournalStore.open(old, StorageSettings(), DaemonSettings())
    try:
        pending = await store.pending_consents(limit=100)
        assert [item.session_id for item in pending][:2] == ["two", "again"]
        assert (await store.counts()).open_approvals == len(pending)
    finally:
        await store.close()
