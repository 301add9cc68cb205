"""Questions about sessions, asked by processes that may claim anything."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from netclaw.core.authority import Audience, Authority, SourceKind
from netclaw.core.errors import (
    DeniedByPolicyError,
    InvalidArgumentError,
    NotFoundError,
    StorageTimeoutError,
)
from netclaw.core.ids import SessionId, TurnId
from netclaw.core.session.events import InputAdmitted
from netclaw.core.session.goal_events import GoalStatus
from netclaw.core.session.inter_session import SendStatus
from netclaw.ports.sessions import (
    GoalQuestion,
    HistoryQuestion,
    ListQuestion,
    SendOrder,
    SendReport,
    StatusQuestion,
    WaitQuestion,
)
from netclaw.supervisor import session_views
from netclaw.supervisor.consents import Asker
from netclaw.wire import sessions as said
from netclaw.wire.convert import recorded_of
from tests.supervisor.desks import (
    AUDIENCES,
    CALL,
    OTHER_PUBLIC,
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


@pytest.mark.requirement("sessions.visibility", "sessions.authority")
@pytest.mark.parametrize(("by", "hidden"), [(TEAM, PERSONAL), (PUBLIC, PERSONAL), (PUBLIC, TEAM)])
async def test_a_broader_session_is_answered_like_one_that_is_not_there(
    desk: Desk, by: SessionId, hidden: SessionId
) -> None:
    found = await desk.refusal(by, hidden)
    nobody = await desk.refusal(by, "cli/nobody")
    assert type(found) is type(nobody) is NotFoundError
    assert found.sentence.replace(hidden, "X") == nobody.sentence.replace("cli/nobody", "X")
    assert hidden not in await desk.listed(by)
    with pytest.raises(NotFoundError):
        await desk.send(by, hidden)
    question = HistoryQuestion(asking=claimed(), key=hidden, limit=5)
    with pytest.raises(NotFoundError):
        await desk.ask(by, said.ASK_HISTORY, question)
    with pytest.raises(NotFoundError):
        await desk.ask(by, said.ASK_GOAL, GoalQuestion(asking=claimed(), key=hidden, create="x"))


@pytest.mark.requirement("sessions.visibility")
async def test_a_conversation_sees_its_audience_and_narrower_ones(desk: Desk) -> None:
    assert await desk.listed(PERSONAL) == set(AUDIENCES)
    assert await desk.listed(TEAM) == set(AUDIENCES) - {PERSONAL}
    narrow = claimed(Audience.TEAM)
    assert await desk.listed(PERSONAL, narrow) == set(AUDIENCES)  # itself always
    assert isinstance(await desk.refusal(TEAM, PERSONAL, narrow), NotFoundError)


@pytest.mark.requirement("sessions.list")
async def test_no_history_is_read_for_another_page(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_views, "PAGE_BYTES", 1)
    read = desk.world.store.read_state
    histories = 0

    async def counted(session_id: SessionId) -> object:
        nonlocal histories
        histories += 1
        return await read(session_id)

    monkeypatch.setattr(desk.world.store, "read_state", counted)
    question = ListQuestion(asking=claimed(), message_limit=5)
    answer = json.loads(await desk.ask(PERSONAL, said.ASK_LIST, question))
    assert (len(answer["sessions"]), answer["nextOffset"]) == (1, 1)
    assert histories == 1


@pytest.mark.requirement("sessions.list", "sends.admission")
async def test_no_text_of_a_conversation_is_redacted_on_the_loop(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def noted(text: str) -> str:
        threads.append(threading.get_ident())
        return text

    def last_messages(*_: object) -> list[session_views.Json]:
        noted("")
        return []

    desk.world.supervisor.services.redact = noted
    monkeypatch.setattr(session_views, "last_messages", last_messages)
    await desk.send(PERSONAL, TEAM)
    await desk.ask(PERSONAL, said.ASK_LIST, ListQuestion(asking=claimed(), message_limit=5))
    assert len(threads) == 1 + len(AUDIENCES)
    assert threading.get_ident() not in threads


@pytest.mark.requirement("sessions.visibility")
async def test_a_public_turn_sees_itself_alone(desk: Desk) -> None:
    assert await desk.listed(PUBLIC) == {PUBLIC}
    assert (await desk.status(PUBLIC, "current")).is_own
    denied = await desk.refusal(PUBLIC, OTHER_PUBLIC)
    assert isinstance(denied, DeniedByPolicyError)
    assert 'visibility is "self"' in denied.sentence
    assert OTHER_PUBLIC in denied.sentence


@pytest.mark.requirement("sessions.authority")
async def test_a_turn_that_is_not_the_open_one_is_answered_nothing(desk: Desk) -> None:
    stale = replace(claimed(), turn_id=TurnId("t0"))
    assert isinstance(await desk.refusal(PERSONAL, "", stale), InvalidArgumentError)


@pytest.mark.requirement("sessions.authority", "sends.admission")
@pytest.mark.parametrize(
    ("by", "to", "audience"),
    [
        (PERSONAL, TEAM, Audience.TEAM),
        (TEAM, OTHER_TEAM, Audience.TEAM),
        (TEAM, PUBLIC, Audience.PUBLIC),
    ],
)
async def test_a_message_runs_no_wider_than_either_session(
    desk: Desk, by: SessionId, to: SessionId, audience: Audience
) -> None:
    report = await desk.send(by, to)
    assert (report.status, report.key) == (SendStatus.ACCEPTED, to)
    rows = await desk.world.store.read_journal(to, since=0, limit=100)
    (sent,) = [event for row in rows if isinstance(event := recorded_of(row).event, InputAdmitted)]
    assert sent.authority.requester == replace(
        claimed().authority.requester, session_id=to, audience=audience, sender_id=by
    )
    assert sent.authority.provenance.source_kind is SourceKind.SESSION
    assert not sent.authority.is_of_person
    assert not sent.attended
    (kept,) = await desk.world.store.open_sends()
    assert _reach(kept.reply_authority) == (by, audience, to)


def _reach(authority: Authority) -> tuple[SessionId, Audience, str | None]:
    requester = authority.requester
    return requester.session_id, requester.audience, requester.sender_id


@pytest.mark.requirement("sends.admission")
async def test_the_same_call_sends_once(desk: Desk) -> None:
    first = await desk.send(PERSONAL, TEAM)
    assert await desk.send(PERSONAL, TEAM, "something else") == first
    assert len(await desk.world.store.ledger(TEAM, limit=10)) == 1


@pytest.mark.requirement("sends.wait")
async def test_a_wait_without_a_message_is_refused_and_one_that_is_too_long_is_cut(
    desk: Desk,
) -> None:
    question = WaitQuestion(call_id=CALL, patience_s=0)
    with pytest.raises(NotFoundError):
        await desk.ask(PERSONAL, said.ASK_WAIT, question)
    await desk.send(PERSONAL, TEAM)
    answer = await desk.ask(PERSONAL, said.ASK_WAIT, question)
    assert said.decode(answer, SendReport).status is SendStatus.ACCEPTED
    with pytest.raises(NotFoundError):
        await desk.ask(TEAM, said.ASK_WAIT, question)


@pytest.mark.requirement("sends.targets", "sends.results")
@pytest.mark.parametrize("message", ["a\0b", "x" * 100_001])
async def test_what_no_session_may_be_sent_is_refused(desk: Desk, message: str) -> None:
    with pytest.raises(InvalidArgumentError):
        await desk.send(PERSONAL, TEAM, message)
    assert await desk.world.store.open_sends() == ()


@pytest.mark.requirement("sends.results")
async def test_a_label_names_the_one_session_of_that_title(desk: Desk) -> None:
    order = SendOrder(asking=claimed(), call_id=CALL, message="hi", label="Plan")
    with pytest.raises(NotFoundError):
        await desk.ask(PERSONAL, said.ASK_SEND, order)
    sessions = desk.world.data.sessions
    sessions[TEAM] = replace(sessions[TEAM], title="plan")
    sessions[OTHER_TEAM] = replace(sessions[OTHER_TEAM], title="Plan")
    with pytest.raises(InvalidArgumentError, match=f'"{TEAM}"'):
        await desk.ask(PERSONAL, said.ASK_SEND, order)
    sessions[OTHER_TEAM] = replace(sessions[OTHER_TEAM], title="another")
    answer = said.decode(await desk.ask(PERSONAL, said.ASK_SEND, order), SendReport)
    assert answer.key == TEAM


@pytest.mark.requirement("goals.models")
async def test_a_process_that_would_move_a_goal_as_people_do_is_refused(desk: Desk) -> None:
    made = GoalQuestion(asking=claimed(), key=TEAM, create="ship it")
    await desk.ask(PERSONAL, said.ASK_GOAL, made)
    for status in (GoalStatus.PAUSED, GoalStatus.ACTIVE):
        question = GoalQuestion(asking=claimed(), key=TEAM, status=status)
        with pytest.raises(InvalidArgumentError):
            await desk.ask(PERSONAL, said.ASK_GOAL, question)


@pytest.mark.requirement("sessions.status-gap")
async def test_a_log_that_cannot_be_read_is_a_version_of_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise StorageTimeoutError("Too slow.")

    monkeypatch.setattr(desk.world.store, "changes_since", fail)
    view = await desk.status(PERSONAL, TEAM)
    assert view.state_version == 0
    assert view.changes is not None
    assert view.changes.events == ()
    assert "session: cli/team" in view.text


@pytest.mark.requirement("sessions.authority")
async def test_a_question_that_is_none_is_refused(desk: Desk) -> None:
    asker = Asker(session_id=PERSONAL, audience=Audience.PERSONAL)
    for payload in (b"", b"{}", b'{"asking":1}', b"\xff"):
        with pytest.raises(InvalidArgumentError):
            await desk._desk.answer(asker, said.ASK_STATUS, payload)
    question = StatusQuestion(asking=claimed(), key="", since=-1)
    with pytest.raises(InvalidArgumentError):
        await desk.ask(PERSONAL, said.ASK_STATUS, question)
