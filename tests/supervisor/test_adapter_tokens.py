"""What a channel adapter's token may see, claim and confirm."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from netclaw.core.authority import Audience, Authenticity, Principal, SourceKind
from netclaw.core.errors import (
    DeniedByPolicyError,
    NetclawError,
    NotFoundError,
    StaleIncarnationError,
)
from netclaw.core.ids import SessionId
from netclaw.core.session.events import InputAdmitted, OutboxRow
from netclaw.supervisor.adapters import caller_of
from netclaw.supervisor.callers import Caller
from netclaw.wire.convert import recorded_of, target_from_proto
from netclaw.wire.v1 import gateway_pb2 as pb
from netclaw.wire.v1.common_pb2 import DeliveryTarget, Sender
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess, Metadata

SLACK = Caller(
    name="slack",
    max_principal=Principal.TRUSTED,
    max_audience=Audience.TEAM,
    max_authenticity=Authenticity.VERIFIED,
    channels=frozenset({SourceKind.SLACK}),
)
TARGET = DeliveryTarget(channel="slack", address="C1/17.1")


def token_of(world: InProcess, caller: Caller = SLACK) -> Metadata:
    """The metadata of an adapter's calls."""
    return (("authorization", f"Bearer {world.supervisor.tokens.issue(caller)}"),)


async def attach(world: InProcess, session_id: str, metadata: Metadata) -> None:
    """Attach, and see how the daemon takes it."""
    call = world.gateway.Attach(pb.AttachRequest(session_id=session_id), metadata=metadata)
    await call.initial_metadata()
    if not call.done():
        call.cancel()
        return
    await call.read()


CALLS: dict[str, Callable[[InProcess, str, Metadata], Awaitable[object]]] = {
    "EnsureSession": lambda world, name, token: world.gateway.EnsureSession(
        pb.EnsureSessionRequest(session_id=name, must_exist=True), metadata=token
    ),
    "SendUserMessage": lambda world, name, token: world.gateway.SendUserMessage(
        pb.SendUserMessageRequest(session_id=name, text="x", sender=Sender(source_kind="slack")),
        metadata=token,
    ),
    "GetSession": lambda world, name, token: world.gateway.GetSession(
        pb.GetSessionRequest(session_id=name), metadata=token
    ),
    "GetHistory": lambda world, name, token: world.gateway.GetHistory(
        pb.GetHistoryRequest(session_id=name), metadata=token
    ),
    "GetLedger": lambda world, name, token: world.gateway.GetLedger(
        pb.GetLedgerRequest(session_id=name), metadata=token
    ),
    "FindInput": lambda world, name, token: world.gateway.FindInput(
        pb.FindInputRequest(session_id=name, source_message_id="m1"), metadata=token
    ),
    "StopTurn": lambda world, name, token: world.gateway.StopTurn(
        pb.StopTurnRequest(session_id=name), metadata=token
    ),
    "Upload": lambda world, name, token: world.gateway.Upload(
        iter([pb.UploadChunk(session_id=name, name="f", data=b"x")]), metadata=token
    ),
    "Attach": attach,
}


@pytest.mark.requirement("supervisor.tokens")
@pytest.mark.parametrize("method", CALLS)
async def test_an_adapter_reaches_the_sessions_of_its_channel_alone(
    world: InProcess, method: str
) -> None:
    await world.send("private", "mine", source_message_id="m1")
    message = pb.SendUserMessageRequest(
        session_id="C1/17.1",
        text="x",
        sender=Sender(source_kind="slack"),
        create=True,
        source_message_id="m1",
    )
    await world.admin.Inject(message, metadata=world.metadata)
    token = token_of(world)
    await CALLS[method](world, "C1/17.1", token)
    error: NetclawError = await refused(CALLS[method](world, "private", token))
    assert isinstance(error, NotFoundError)


@pytest.mark.requirement("supervisor.tokens")
@pytest.mark.parametrize("channel", ["discord", "cli"])
async def test_an_adapter_has_no_reply_posted_by_another_channel(
    world: InProcess, channel: str
) -> None:
    message = pb.SendUserMessageRequest(
        session_id="C1/17.1",
        text="x",
        sender=Sender(source_kind="slack"),
        create=True,
        delivery_targets=[TARGET, DeliveryTarget(channel=channel, address="D1/2")],
    )
    sent = world.gateway.SendUserMessage(message, metadata=token_of(world, caller_of("slack")))
    assert isinstance(await refused(sent), DeniedByPolicyError)
    del message.delivery_targets[1]
    await world.gateway.SendUserMessage(message, metadata=token_of(world, caller_of("slack")))


@pytest.mark.requirement("supervisor.tokens")
async def test_an_adapter_lists_the_sessions_of_its_channel_page_by_page(world: InProcess) -> None:
    for number in range(3):
        await world.ensure(f"cli-{number}")
        message = pb.SendUserMessageRequest(
            session_id=f"d{number}", text="x", sender=Sender(source_kind="slack")
        )
        await world.admin.Inject(message, metadata=world.metadata)
    token, after, seen = token_of(world), "", []
    while True:
        request = pb.ListSessionsRequest(limit=2, after_id=after)
        page = (await world.gateway.ListSessions(request, metadata=token)).sessions
        seen += [row.id for row in page]
        if len(page) < 2:
            break
        after = page[-1].id
    assert seen == ["d0", "d1", "d2"]


@pytest.mark.requirement("supervisor.tokens")
@pytest.mark.parametrize(
    ("claimed", "kept"),
    [("LocalProcess", "Verified"), ("Verified", "Verified"), ("Unverified", "Unverified")],
)
async def test_an_adapter_cannot_claim_to_know_a_sender_more_surely_than_it_can(
    world: InProcess, claimed: str, kept: str
) -> None:
    message = pb.SendUserMessageRequest(
        session_id="C1/17.1",
        text="x",
        create=True,
        sender=Sender(source_kind="slack", principal="trusted", authenticity=claimed),
    )
    await world.admin.Inject(message, metadata=world.metadata)
    message.create = False
    await world.gateway.SendUserMessage(message, metadata=token_of(world))
    rows = await world.store.read_journal(SessionId("C1/17.1"), since=0, limit=99)
    events = [recorded_of(row).event for row in rows]
    inputs = [event for event in events if isinstance(event, InputAdmitted)]
    assert inputs[-1].authority.provenance.authenticity.value == kept


@pytest.mark.requirement("supervisor.outbox")
async def test_a_failure_without_a_time_gives_a_reply_up_and_only_its_claimant_may_say_so(
    world: InProcess,
) -> None:
    await world.ensure("hello")
    row = OutboxRow(target=target_from_proto(TARGET), text="late", turn_id="t", input_ids=())  # type: ignore[arg-type]
    for _ in range(2):
        await world.store.append_own(SessionId("hello"), (), at=1, outbox=(row,))
    token, other = token_of(world), token_of(world)
    claim = pb.ClaimOutboxRequest(channel="slack", adapter_start="a")
    (first,) = (await world.gateway.ClaimOutbox(claim, metadata=token)).items
    confirm = pb.ConfirmOutboxRequest(
        row_id=first.row_id, adapter_start="a", failure="rate limited", retry_after_ms=60_000
    )
    error = await refused(world.gateway.ConfirmOutbox(confirm, metadata=world.metadata))
    assert isinstance(error, StaleIncarnationError)
    await world.gateway.ConfirmOutbox(confirm, metadata=other)
    assert not (await world.gateway.ClaimOutbox(claim, metadata=token)).items
    world.data.outbox.replies[0].next_attempt_at = 0
    (again,) = (await world.gateway.ClaimOutbox(claim, metadata=token)).items
    assert (again.row_id, again.attempts) == (first.row_id, 1)
    confirm = pb.ConfirmOutboxRequest(row_id=first.row_id, adapter_start="a", failure="no channel")
    await world.gateway.ConfirmOutbox(confirm, metadata=token)
    (second,) = (await world.gateway.ClaimOutbox(claim, metadata=token)).items
    assert second.row_id != first.row_id
