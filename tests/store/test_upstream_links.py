"""An adoption stands, whatever becomes of its link and its signal; a marker does not."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from netclaw.core.authority import Audience
from netclaw.core.errors import NetclawError
from netclaw.core.ids import SessionId
from netclaw.core.session.adoption_events import AdoptedMessage, AdoptedRole, HistoryAdopted
from netclaw.core.signals.events import Actor, ActorType
from netclaw.core.signals.transcripts import Catalog
from netclaw.core.signals.upstream import (
    Scan,
    UpstreamMarker,
    UpstreamSource,
    activity_signal,
    missing_signal,
)
from netclaw.ports.upstream import Adoption, NewBase
from tests.contracts.journal_world import SESSION, SqliteWorld

MESSAGE = AdoptedMessage(role=AdoptedRole.USER, text="hello")
MARKER = UpstreamMarker(offset=100, device=1, inode=2, based_at=7)
ADOPTION = Adoption(
    session_id=SESSION,
    source=UpstreamSource(catalog=Catalog.JSONL, path="/t/a.jsonl"),
    marker=MARKER,
    actor=Actor(type=ActorType.HUMAN, id="operator"),
    at=1,
    base=NewBase(audience=Audience.PERSONAL, storage_root="/home/x/s"),
    history=(HistoryAdopted(messages=(MESSAGE,)),),
)


def forbid(path: Path, table: str, *verbs: str) -> None:
    """Have every such write to a table fail."""
    connection = apsw.Connection(str(path))
    for verb in verbs:
        connection.execute(
            f"CREATE TRIGGER no_{table}_{verb} BEFORE {verb} ON {table}"
            " BEGIN SELECT RAISE(ABORT, 'forbidden'); END"
        )
    connection.close()


async def types(world: SqliteWorld) -> list[str]:
    rows = await world.journal.read_journal(SESSION, since=0, limit=10)
    return [row.type for row in rows]


ADOPTED = ["SessionCreated", "SessionAdopted", "HistoryAdopted"]


@pytest.mark.requirement("upstream.link-fails")
async def test_an_adoption_stands_without_its_link(tmp_path: Path) -> None:
    world = SqliteWorld(tmp_path / "netclaw.db")
    await world.open()
    try:
        forbid(world.path, "session_upstream_links", "INSERT")
        assert (await world.journal.adopt(ADOPTION)).link is None
        assert await types(world) == ADOPTED
        assert len((await world.journal.changes_since(SESSION, 0)).events) == 1
    finally:
        await world.close()


@pytest.mark.requirement("upstream.link-fails")
async def test_an_adoption_stands_without_its_signal(tmp_path: Path) -> None:
    world = SqliteWorld(tmp_path / "netclaw.db")
    await world.open()
    try:
        forbid(world.path, "session_state_events", "INSERT")
        assert (await world.journal.adopt(ADOPTION)).link is not None
        assert await types(world) == ADOPTED
        assert (await world.journal.changes_since(SESSION, 0)).events == ()
    finally:
        await world.close()


@pytest.mark.requirement("upstream.atomic")
async def test_a_marker_does_not_move_and_a_link_does_not_end_without_the_event(
    tmp_path: Path,
) -> None:
    world = SqliteWorld(tmp_path / "netclaw.db")
    await world.open()
    try:
        link = (await world.journal.adopt(ADOPTION)).link
        own = await world.journal.own_side(SessionId(SESSION))
        assert link is not None
        assert own is not None
        forbid(world.path, "session_state_events", "INSERT")
        signal = activity_signal(link, Scan(offset=150, turns=1), modified_at=1, now=1)
        with pytest.raises(NetclawError):
            await world.journal.advance_upstream(link, own, MARKER, signal=signal, at=1)
        with pytest.raises(NetclawError):
            await world.journal.remove_upstream(link, own, signal=missing_signal(link, now=1))
        assert await world.journal.upstream_link(SESSION) == link
    finally:
        await world.close()
