"""The signal log on a real file: many writers, a log that fails, deaths, an older schema."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from netclaw.core.ids import SessionId
from netclaw.core.session.goals import GoalChange
from netclaw.core.signals.events import Actor, ActorType
from netclaw.ports.signals import SignalsCommitted
from tests.contracts.journal_world import SqliteWorld, recorded
from tests.contracts.signal_steps import (
    C,
    P,
    Q,
    admitted,
    began,
    begins_turn,
    cursor,
    drains,
    lines,
    open_notices,
    says,
    since,
    spawn,
    wants,
    watch,
    write_own,
)
from tests.store.test_upgrade import NEWEST, as_version

INVARIANT = (
    "SELECT (SELECT count(*) FROM session_watch_cursors WHERE NOT (last_seen_sequence"
    " <= notified_sequence AND notified_sequence <= material_sequence)),"
    " (SELECT last_sequence FROM session_state_heads),"
    " (SELECT max(sequence) FROM session_state_events)"
)
"""Broken rows, and a head that must be the maximum."""
WRITERS = 16
APPENDS = 1000
TARGET = SessionId("target")


@pytest.fixture
async def world(tmp_path: Path) -> SqliteWorld:
    """A new, open store; closed by the test's end of its loop."""
    made = SqliteWorld(tmp_path / "netclaw.db")
    await made.open()
    return made


def sql(world: SqliteWorld, statement: str) -> list[tuple[object, ...]]:
    """Run a statement beside the store, as an operator's hand would."""
    connection = apsw.Connection(str(world.path))
    connection.set_busy_timeout(5000)
    try:
        return list(connection.execute(statement))
    finally:
        connection.close()


@pytest.mark.timeout(60)
@pytest.mark.requirement("signals.case-30")
async def test_many_sessions_append_to_one_target_at_once(world: SqliteWorld) -> None:
    await world.create(TARGET)
    writers = [SessionId(f"writer/{number}") for number in range(WRITERS)]
    for writer in writers:
        await world.create(writer)
        await watch(world, writer, TARGET)
    order: list[int] = []
    bad: list[str] = []

    connection = apsw.Connection(str(world.path), flags=apsw.SQLITE_OPEN_READONLY)

    def listen(signals: SignalsCommitted) -> None:
        """Look at the table itself, as this commit or a later one left it."""
        order.extend(event.sequence for event in signals.events)
        found = connection.execute(INVARIANT).fetchall()
        bad.extend(str(row) for row in found if row[0] or row[1] != row[2])

    world.journal.set_signal_listener(listen)

    async def act(index: int) -> None:
        me = Actor(type=ActorType.AGENT, id=writers[index])
        for number in range(APPENDS // WRITERS + (index < APPENDS % WRITERS)):
            goal = GoalChange(text=f"{index}.{number}")
            await world.journal.set_goal(TARGET, goal, actor=me, at=number + 1)
            if number % 7 == index % 7:
                await drains(world, writers[index])

    await asyncio.gather(*[act(index) for index in range(WRITERS)])
    connection.close()
    assert bad == []
    assert len(order) == APPENDS
    assert order == sorted(set(order))
    stored = [row[0] for row in sql(world, "SELECT sequence FROM session_state_events ORDER BY 1")]
    assert stored == order
    assert (await since(world, 0, TARGET)).state_version == max(order)
    assert (await world.record(TARGET)).state_version == max(order)
    for item in await world.journal.cursors(TARGET):
        assert item.seen <= item.notified <= item.material
    await world.close()


BROKEN = [
    "CREATE TRIGGER no BEFORE INSERT ON session_state_events BEGIN SELECT RAISE(ABORT, 'no'); END",
    "CREATE TRIGGER no BEFORE INSERT ON session_state_heads BEGIN SELECT RAISE(FAIL, 'no'); END",
    "DROP TABLE session_state_events",
    "DROP TABLE session_state_heads",
    "DROP TABLE session_watch_cursors",
]


@pytest.mark.requirement("signals.case-24", "signals.best-effort")
@pytest.mark.parametrize("statement", BROKEN)
async def test_a_log_that_cannot_be_written_harms_no_turn(
    world: SqliteWorld, caplog: pytest.LogCaptureFixture, statement: str
) -> None:
    version = await spawn(world)
    await world.close()
    sql(world, statement)
    await world.open()
    told = len(world.signalled)
    with caplog.at_level(logging.WARNING, logger="netclaw.store"):
        await says(world, C, times=3)
        await wants(world, C, "Win.")
        await says(world, P)
        assert await open_notices(world, P) == ()
    assert [entry.outcome for entry in await world.journal.ledger(C, limit=9)][1:] == [
        "completed"
    ] * 3
    assert (await world.record(C)).goal == "Win."
    assert (await world.record(C)).state_version == version
    assert len(world.signalled) == told
    warned = [item for item in caplog.records if item.name == "netclaw.store.signal_book"]
    assert len(warned) == 1
    assert "signal log cannot be written" in world.journal.signals_problem
    assert await world.journal.check_integrity(is_full=True) is None
    await world.close()


@pytest.mark.requirement("signals.best-effort")
async def test_a_log_that_can_be_written_again_is(
    world: SqliteWorld, caplog: pytest.LogCaptureFixture
) -> None:
    version = await spawn(world)
    for _ in range(2):
        caplog.clear()
        sql(world, BROKEN[0])
        await says(world, C)
        sql(world, "DROP TRIGGER no")
        await says(world, C)
        assert world.journal.signals_problem == ""
        warned = [item for item in caplog.records if item.name == "netclaw.store.signal_book"]
        assert len(warned) == 1
    assert len((await since(world, version)).events) == 2
    await world.close()


@pytest.mark.requirement("signals.best-effort")
async def test_a_log_that_cannot_be_read_answers_version_0(
    world: SqliteWorld, caplog: pytest.LogCaptureFixture
) -> None:
    await spawn(world)
    await world.close()
    sql(world, "DROP TABLE session_state_events")
    await world.open()
    for found in (await since(world, 0), await world.journal.all_changes_since(0)):
        assert (found.state_version, found.events) == (0, ())
    assert "cannot be read" in caplog.text
    await world.close()


@pytest.mark.requirement("signals.best-effort")
async def test_a_row_changed_by_hand_harms_no_turn(world: SqliteWorld) -> None:
    await spawn(world)
    sql(world, "UPDATE session_watch_cursors SET last_seen_sequence = 99")
    await says(world, C)
    assert (await world.journal.ledger(C, limit=1))[0].outcome == "completed"
    assert await open_notices(world, P) == ()
    await world.close()


@pytest.mark.requirement("signals.best-effort")
async def test_sessions_go_and_come_while_the_log_is_broken(world: SqliteWorld) -> None:
    await spawn(world)
    await world.create(Q)
    sql(world, "DROP TABLE session_watch_cursors")
    await world.journal.reset_session(Q, at=1)
    await world.journal.delete_session(Q)
    await world.create(Q)
    assert (await world.record(Q)).life == 3
    assert (await world.journal.counts()).watches == 0
    await world.close()


@pytest.mark.requirement("signals.kept-until-told")
@pytest.mark.parametrize("is_told", [False, True])
def test_a_kill_leaves_a_notice_told_and_consumed_or_neither(tmp_path: Path, is_told: bool) -> None:
    path = tmp_path / "netclaw.db"
    step = "told" if is_told else "open"
    child = [sys.executable, "-m", "tests.store.signal_child", str(path), step]
    killed = subprocess.run(child, capture_output=True, text=True, timeout=20, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    asyncio.run(look_after(path, is_told=is_told))


async def look_after(path: Path, *, is_told: bool) -> None:
    """What is left of a watcher whose process was killed."""
    world = SqliteWorld(path)
    await world.open()
    version = (await since(world, 0)).events[0].sequence
    turns = [event for event in await world.events(P) if type(event).__name__ == "TurnStarted"]
    assert len(turns) == is_told
    swept = await world.journal.sweep_cursors(at=1)
    assert [change.watcher for change in swept] == ([] if is_told else [P])
    assert await drains(world) == (() if is_told else (version,))
    await world.close()


@pytest.mark.requirement("signals.upgrade")
async def test_a_database_without_a_signal_log_gets_one(tmp_path: Path) -> None:
    made = SqliteWorld(tmp_path / "today.db")
    await made.open()
    await spawn(made)
    waiting = await admitted(made, C)
    await made.close()
    old = tmp_path / "netclaw.db"
    as_version(tmp_path / "today.db", old, 6)
    world = SqliteWorld(old)
    await world.open()
    assert await world.journal.cursors() == ()
    assert (await world.record(C)).goal == ""
    await write_own(world, C, began("t", waiting), recorded("t", waiting))
    await says(world, C)
    assert await lines(world) == ["human message via slack"]
    assert await cursor(world) == (0, 1, 1)
    await world.close()
    assert sql(world, "PRAGMA user_version") == [(NEWEST,)]
    plan = sql(world, "SELECT name FROM sqlite_schema WHERE name LIKE 'session_%' ORDER BY name")
    assert {name for (name,) in plan} >= {
        *("session_state_events", "session_state_heads", "session_watch_cursors"),
        "session_upstream_links",
    }


@pytest.mark.requirement("signals.upgrade")
async def test_an_opened_turn_finds_what_it_told_after_a_restart(world: SqliteWorld) -> None:
    version = await spawn(world)
    await says(world, C)
    assert await begins_turn(world) == (version,)
    await world.die()
    await write_own(world, P, recorded("told"))
    assert sql(world, "SELECT count(*) FROM session_watch_cursors WHERE told_turn IS NOT NULL") == [
        (0,)
    ]
    await world.close()


@pytest.mark.requirement("signals.trouble-07")
async def test_no_query_of_an_append_looks_at_more_than_its_own_rows(world: SqliteWorld) -> None:
    await spawn(world)
    await world.close()
    connection = apsw.Connection(str(world.path), flags=apsw.SQLITE_OPEN_READONLY)
    cursors = "SELECT * FROM session_watch_cursors WHERE "
    events = "SELECT * FROM session_state_events WHERE "
    queries = [
        f"{cursors} target_session_key = 'x'",
        f"{cursors} watcher_session_key = 'x' AND material_sequence > last_seen_sequence",
        f"{cursors} watcher_session_key = 'x' AND told_turn IS NOT NULL",
        f"{events} dedupe_key = 'x'",
        f"{events} session_key = 'x' AND sequence > 1 ORDER BY sequence LIMIT 9",
    ]
    for query in queries:
        plan = " ".join(str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {query}"))
        assert "SCAN" not in plan, plan
        assert "TEMP B-TREE" not in plan, plan
    connection.close()
