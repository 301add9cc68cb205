"""A desk of sessions, asked by processes that may claim anything."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from netclaw.core.authority import Audience, Principal, SourceKind
from netclaw.core.errors import (
    NetclawError,
)
from netclaw.core.ids import AppendId, CallId, SessionId, TurnId
from netclaw.core.session.events import SessionKind, TurnStarted
from netclaw.ports.journal import AppendRequest, NewSession
from netclaw.ports.sessions import (
    Asking,
    ListQuestion,
    SendOrder,
    SendReport,
    StatusQuestion,
    StatusView,
)
from netclaw.supervisor.consents import Asker
from netclaw.supervisor.session_desk import SessionDesk
from netclaw.supervisor.session_letters import SessionLetters
from netclaw.testing.people import authority
from netclaw.wire import sessions as said
from netclaw.wire.journal_codec import encode_event
from tests.supervisor.world import InProcess

PERSONAL, TEAM, PUBLIC = (SessionId(f"cli/{name}") for name in ("own", "team", "public"))
OTHER_TEAM, OTHER_PUBLIC = SessionId("cli/team-two"), SessionId("cli/public-two")
AUDIENCES = {
    PERSONAL: Audience.PERSONAL,
    TEAM: Audience.TEAM,
    OTHER_TEAM: Audience.TEAM,
    PUBLIC: Audience.PUBLIC,
    OTHER_PUBLIC: Audience.PUBLIC,
}
TURN = TurnId("t1")
CALL = CallId("call000000000001")


def claimed(audience: Audience = Audience.PERSONAL) -> Asking:
    """A turn that says of itself that it is an operator's, of this audience."""
    by = authority("me", Principal.OPERATOR, audience=audience, session_id=SessionId("cli/forged"))
    return Asking(turn_id=TURN, authority=by)


class Desk:
    """The desk of a supervisor, asked as the process of a session asks it."""

    def __init__(self, world: InProcess) -> None:
        self.world = world
        self._desk = SessionDesk(world.supervisor.services, world.supervisor.router)

    @property
    def letters(self) -> SessionLetters:
        """The messages between sessions."""
        return self._desk.letters

    async def ask(self, by: SessionId, kind: str, question: said.Said) -> bytes:
        """One question."""
        asker = Asker(session_id=by, audience=AUDIENCES[by])
        return await self._desk.answer(asker, kind, said.encode(question))

    async def status(self, by: SessionId, key: str, asking: Asking | None = None) -> StatusView:
        """`session_status` of a session."""
        question = StatusQuestion(asking=asking or claimed(), key=key, since=0)
        return said.decode(await self.ask(by, said.ASK_STATUS, question), StatusView)

    async def refusal(self, by: SessionId, key: str, asking: Asking | None = None) -> NetclawError:
        """What `session_status` is refused with."""
        with pytest.raises(NetclawError) as caught:
            await self.status(by, key, asking)
        return caught.value

    async def listed(self, by: SessionId, asking: Asking | None = None) -> set[str]:
        """The keys of `sessions_list`."""
        answer = await self.ask(by, said.ASK_LIST, ListQuestion(asking=asking or claimed()))
        return {row["sessionKey"] for row in json.loads(answer)["sessions"]}

    async def send(self, by: SessionId, key: str, message: str = "hello") -> SendReport:
        """`sessions_send`."""
        order = SendOrder(asking=claimed(), call_id=CALL, message=message, key=key)
        return said.decode(await self.ask(by, said.ASK_SEND, order), SendReport)


@asynccontextmanager
async def opened() -> AsyncIterator[Desk]:
    """Sessions of every audience, each in a turn."""
    async with InProcess() as world:
        for session_id, audience in AUDIENCES.items():
            await begin(world, session_id, audience)
        yield Desk(world)


async def begin(world: InProcess, session_id: SessionId, audience: Audience) -> None:
    """A session in the middle of a turn; no process runs it."""
    store = world.store
    await store.create_session(
        NewSession(
            session_id=session_id,
            kind=SessionKind.MAIN,
            channel=SourceKind.CLI,
            audience=audience,
            storage_root=str(world.home.root / "sessions" / session_id.replace("/", "-")),
            at=1,
        )
    )
    start = await store.begin_incarnation(session_id, at=1)
    started = TurnStarted(turn_id=TURN, input_ids=(), authority=claimed(audience).authority)
    await store.append(
        AppendRequest(
            session_id=session_id,
            append_id=AppendId(f"a-{session_id}"),
            incarnation=start.incarnation,
            expected_head=start.record.head,
            events=(encode_event(started),),
            at=1,
            cause="test",
        )
    )
