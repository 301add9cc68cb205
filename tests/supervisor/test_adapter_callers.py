"""What the token of an adapter allows: its own channel, and no more than a platform can know."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Audience, Authenticity, Authority, Principal
from netclaw.core.errors import DeniedByPolicyError, NotFoundError
from netclaw.core.ids import SessionId
from netclaw.supervisor.adapters import caller_of
from netclaw.supervisor.callers import authority_for, check_channel, parse_source
from netclaw.wire.v1.common_pb2 import Sender


def _authority(channel: str, **claims: str) -> Authority:
    return authority_for(
        caller_of(channel), SessionId("room/1"), Audience.TEAM, Sender(**claims), ()
    )


@pytest.mark.requirement("channel_host.token")
@pytest.mark.parametrize(("channel", "source"), [("slack", "slack"), ("loop", "channel:loop")])
def test_people_of_its_own_channel_are_trusted_at_most(channel: str, source: str) -> None:
    made = _authority(
        channel,
        sender_id="U1",
        source_kind=source,
        principal="operator",
        authenticity="LocalProcess",
        audience="Personal",
        boundary="x:T1/room",
    )
    assert made.requester.principal is Principal.TRUSTED
    assert made.requester.audience is Audience.TEAM
    assert made.requester.channel_type == parse_source(source)
    assert made.provenance.authenticity is Authenticity.VERIFIED


@pytest.mark.requirement("channel_host.token")
@pytest.mark.parametrize("other", ["cli", "discord", "channel:pool", "reminder"])
def test_it_speaks_for_no_other_source_and_sees_none(other: str) -> None:
    with pytest.raises(DeniedByPolicyError):
        _authority("loop", sender_id="U1", source_kind=other)
    with pytest.raises(NotFoundError):
        check_channel(caller_of("loop"), parse_source(other))
