"""The operator's service about grants, over the real socket."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Audience, Principal, SourceKind
from netclaw.core.authz import grants_file
from netclaw.core.authz.grants import Grant
from netclaw.core.errors import (
    ApprovalStoreError,
    DeniedByPolicyError,
    InvalidArgumentError,
    NotFoundError,
)
from netclaw.supervisor.callers import Caller
from netclaw.wire.v1 import admin_pb2 as pb
from tests.supervisor.test_consents import chat, known, record, started, stored
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess


async def listed(world: InProcess, **fields: str) -> pb.ListGrantsResponse:
    """What is kept."""
    response: pb.ListGrantsResponse = await world.admin.ListGrants(
        pb.ListGrantsRequest(**fields), metadata=world.metadata
    )
    return response


def holds(world: InProcess, *grants: Grant) -> None:
    """Write the file by hand."""
    world.home.grants_file.parent.mkdir(exist_ok=True)
    world.home.grants_file.write_text(grants_file.write(grants))


@pytest.mark.requirement("approvals.list")
async def test_stored_grants_and_those_of_chats_are_listed(world: InProcess) -> None:
    peer = await started(world)
    holds(world, stored("git push", directory="/p"), stored("ls", Audience.TEAM))
    await record(peer, chats=(chat("git fetch"),))
    rows = (await listed(world)).grants
    assert [(row.label, row.scope, row.audience) for row in rows] == [
        ("git push", "folder", "Personal"),
        ("ls", "everywhere", "Team"),
        ("git fetch", "chat", "Personal"),
    ]
    assert (rows[0].directory, rows[0].shell, rows[2].session_id) == ("/p", "Bash", "hello")
    assert [row.label for row in (await listed(world, audience="Team")).grants] == ["ls"]
    assert not (await listed(world, tool="file_write")).grants
    for bad in (listed(world, audience="Everybody"),):
        assert isinstance(await refused(bad), DeniedByPolicyError)


@pytest.mark.requirement("approvals.revoke")
async def test_a_revocation_counts_at_the_next_question(world: InProcess) -> None:
    peer = await started(world)
    await record(peer, stored("git push"), stored("ls"), chats=(chat("make"), chat("cc")))
    revoke = pb.RevokeGrantsRequest(label="git push")
    response = await world.admin.RevokeGrants(revoke, metadata=world.metadata)
    assert [row.label for row in response.revoked] == ["git push"]
    assert (await known(peer)).store.grants == (stored("ls"),)
    again = world.admin.RevokeGrants(revoke, metadata=world.metadata)
    assert isinstance(await refused(again), NotFoundError)
    await world.admin.RevokeGrants(
        pb.RevokeGrantsRequest(all=True, tool="shell_execute", audience="Personal"),
        metadata=world.metadata,
    )
    assert (await known(peer)).store.grants == ()
    of_chat = pb.RevokeGrantsRequest(session_id="hello", label="make")
    await world.admin.RevokeGrants(of_chat, metadata=world.metadata)
    assert (await known(peer)).chat == {chat("cc")}
    unclear = pb.RevokeGrantsRequest(session_id="hello")
    assert isinstance(
        await refused(world.admin.RevokeGrants(unclear, metadata=world.metadata)),
        InvalidArgumentError,
    )
    rest = pb.RevokeGrantsRequest(session_id="hello", all=True)
    await world.admin.RevokeGrants(rest, metadata=world.metadata)
    assert (await known(peer)).chat == frozenset()
    assert isinstance(
        await refused(world.admin.RevokeGrants(rest, metadata=world.metadata)), NotFoundError
    )


@pytest.mark.requirement("approvals.trust")
async def test_a_trusted_phrase_is_stored_everywhere_once(world: InProcess) -> None:
    trust = pb.TrustPhraseRequest(words=("git", "push"), audience="Personal")
    first = await world.admin.TrustPhrase(trust, metadata=world.metadata)
    assert first.added
    assert (first.grant.label, first.grant.scope) == ("git push", "everywhere")
    again = await world.admin.TrustPhrase(trust, metadata=world.metadata)
    assert not again.added
    (grant,) = grants_file.read(world.home.grants_file.read_text())
    assert (grant.words, grant.directory) == (("git", "push"), None)
    for bad in (("",), (), ("a\u202eb",)):
        request = pb.TrustPhraseRequest(words=bad, audience="Personal")
        error = await refused(world.admin.TrustPhrase(request, metadata=world.metadata))
        assert isinstance(error, InvalidArgumentError)
    nobody = pb.TrustPhraseRequest(words=("ls",))
    assert isinstance(
        await refused(world.admin.TrustPhrase(nobody, metadata=world.metadata)),
        DeniedByPolicyError,
    )


@pytest.mark.requirement("approvals.broken")
async def test_a_broken_file_is_reported_and_changed_by_nothing(world: InProcess) -> None:
    holds(world)
    world.home.grants_file.write_text("{")
    status = await world.admin.Status(pb.StatusRequest(), metadata=world.metadata)
    assert status.grants_problem
    assert (await listed(world)).problem == status.grants_problem
    calls = (
        world.admin.RevokeGrants(pb.RevokeGrantsRequest(label="x"), metadata=world.metadata),
        world.admin.TrustPhrase(
            pb.TrustPhraseRequest(words=("ls",), audience="Personal"), metadata=world.metadata
        ),
    )
    for call in calls:
        assert isinstance(await refused(call), ApprovalStoreError)
    assert world.home.grants_file.read_text() == "{"
    world.home.grants_file.unlink()
    status = await world.admin.Status(pb.StatusRequest(), metadata=world.metadata)
    assert not status.grants_problem


@pytest.mark.requirement("approvals.audience")
async def test_only_the_operator_handles_grants(world: InProcess) -> None:
    slack = Caller(
        name="slack adapter",
        max_principal=Principal.TRUSTED,
        max_audience=Audience.TEAM,
        channels=frozenset({SourceKind.SLACK}),
    )
    theirs = (("authorization", f"Bearer {world.supervisor.tokens.issue(slack)}"),)
    calls = (
        world.admin.ListGrants(pb.ListGrantsRequest(), metadata=theirs),
        world.admin.RevokeGrants(pb.RevokeGrantsRequest(), metadata=theirs),
        world.admin.TrustPhrase(pb.TrustPhraseRequest(), metadata=theirs),
    )
    for call in calls:
        assert isinstance(await refused(call), DeniedByPolicyError)
