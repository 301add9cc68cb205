"""What is left of sessions: runs that were removed, and replies to whoever waits no more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from netclaw.core.authority import Audience, SourceKind
from netclaw.core.errors import (
    InternalError,
    NotFoundError,
)
from netclaw.core.ids import SessionId, chat_key
from netclaw.core.session.events import SessionKind
from netclaw.core.session.inter_session import SendEnd
from netclaw.core.signals.events import SignalKind, compacted
from netclaw.ports.journal import AdmitRequest, Commit, JournalRow, NewSession
from netclaw.ports.session_sends import SentMessage
from netclaw.supervisor.session_desk import SessionDesk
from tests.supervisor.desks import (
    OTHER_TEAM,
    PERSONAL,
    PUBLIC,
    TEAM,
    Desk,
    claimed,
    opened,
)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """Sessions of every audience, each in a turn."""
    async with opened() as made:
        yield made


@pytest.mark.requirement("sessions.status", "sessions.visibility")
async def test_a_run_that_was_removed_is_answered_for_by_the_log(desk: Desk) -> None:
    """A notice about a run may be told after its end; what it says to call must answer."""
    run = SessionId(f"{TEAM}/sub/abcdefghijklmnop")
    await had_run(desk, run)
    for by in (TEAM, OTHER_TEAM, PERSONAL):
        view = await desk.status(by, run)
        assert view.changes is not None
        assert [event.kind for event in view.changes.events] == [SignalKind.COMPACTED]
        assert view.state_version == view.changes.events[-1].sequence
        assert "phase: over" in view.text
    assert isinstance(await desk.refusal(PUBLIC, run), NotFoundError)


@pytest.mark.requirement("sessions.status", "sessions.visibility")
async def test_a_removed_run_of_a_broader_conversation_never_was(desk: Desk) -> None:
    run = SessionId(f"{PERSONAL}/sub/abcdefghijklmnop")
    await had_run(desk, run)
    assert (await desk.status(PERSONAL, run)).key == run
    for by, asking in ((TEAM, None), (PUBLIC, None), (PERSONAL, claimed(Audience.TEAM))):
        hidden = await desk.refusal(by, run, asking)
        assert hidden.sentence == f'There is no session "{run}".'
    never = await desk.refusal(PERSONAL, f"{PERSONAL}/sub/ponmlkjihgfedcba")
    assert isinstance(never, NotFoundError)


async def had_run(desk: Desk, run: SessionId) -> None:
    """A child run of which the log alone is left."""
    await desk.world.store.create_session(
        NewSession(
            session_id=run,
            kind=SessionKind.CHILD,
            channel=SourceKind.CHILD,
            audience=Audience.TEAM,
            parent=chat_key(run),
            storage_root=str(desk.world.home.root / "sessions" / "run"),
            at=1,
        )
    )
    await desk.world.store.record_signal(compacted(run, operation="once", at=1))
    await desk.world.store.delete_session(run)


@pytest.mark.requirement("sends.reply-once")
async def test_a_reply_that_cannot_be_delivered_keeps_no_other_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, sends = desk.world.store, desk.world.data.sends
    for by, to in ((PERSONAL, TEAM), (TEAM, OTHER_TEAM)):
        await desk.send(by, to)
    for number, (turn, sent) in list(sends.by_id.items()):
        over = replace(sent, end=SendEnd.COMPLETED, reply="done", is_late=True)
        sends.by_id[number] = (turn, over)
    deliver = store.deliver_reply

    async def fail(send_id: int, reply: AdmitRequest) -> bool:
        if reply.session_id == PERSONAL:
            raise InternalError("Broken.")
        return await deliver(send_id, reply)

    monkeypatch.setattr(store, "deliver_reply", fail)
    desk.letters.look()

    async def is_told() -> bool:
        return any(
            (entry.source_message_id or "").startswith("reply:")
            for entry in await store.ledger(TEAM, limit=10)
        )

    await desk.world.until(is_told)
    (waiting,) = await store.open_sends()
    assert waiting.sender == PERSONAL


@pytest.mark.requirement("sends.reply-once")
async def test_what_ends_while_the_first_look_reads_is_looked_at_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a start nobody knows yet whose messages are open."""
    read, looks = desk.world.store.open_sends, 0
    await desk.send(PERSONAL, TEAM)
    after_start = SessionDesk(desk.world.supervisor.services, desk.world.supervisor.router).letters
    ended = JournalRow(
        seq=9, at=1, type="TurnRecorded", version=1, incarnation=1, cause="", payload=b"{}"
    )

    async def overtaken() -> tuple[SentMessage, ...]:
        nonlocal looks
        looks += 1
        found = await read()
        if looks == 1:
            after_start.on_commit(Commit(session_id=TEAM, append_id=None, rows=(ended,)))
        return found

    monkeypatch.setattr(desk.world.store, "open_sends", overtaken)
    after_start.look()
    await desk.world.until(lambda: looks == 2)
