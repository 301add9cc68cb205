"""The audience of a new session: who speaks, where, and what the operator configured."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Audience, Principal, SourceKind
from netclaw.core.errors import DeniedByPolicyError
from netclaw.core.settings import DaemonSettings
from netclaw.supervisor.callers import OPERATOR, Caller, audience_for_new_session
from netclaw.wire.v1.common_pb2 import Sender

SLACK = Caller(
    name="slack",
    max_principal=Principal.TRUSTED,
    max_audience=Audience.PERSONAL,
    channels=frozenset({SourceKind.SLACK}),
)
PLACES = {"slack": {"C1": Audience.PUBLIC, "dm": Audience.PERSONAL}}


def audience(
    caller: Caller = SLACK, *, posture: Audience = Audience.PERSONAL, **sender: str
) -> Audience:
    """The audience of a session that this sender begins."""
    daemon = DaemonSettings(posture=posture, channel_audiences=PLACES)
    return audience_for_new_session(caller, Sender(**sender), daemon)


@pytest.mark.requirement("profiles.audience")
@pytest.mark.parametrize("posture", Audience)
def test_the_operators_terminal_is_personal_whatever_the_posture(posture: Audience) -> None:
    assert audience(OPERATOR, posture=posture) is Audience.PERSONAL
    assert audience(OPERATOR, posture=posture, audience="Team") is Audience.TEAM


@pytest.mark.requirement("profiles.audience")
@pytest.mark.parametrize(
    ("boundary", "principal", "expected"),
    [
        ("slack:T/C1", "trusted", Audience.PUBLIC),
        ("slack:T/dm", "trusted", Audience.PERSONAL),
        ("slack:T/C2", "trusted", Audience.TEAM),
        ("slack:T/C2", "untrusted", Audience.PUBLIC),
        ("", "trusted", Audience.TEAM),
    ],
)
def test_a_place_of_a_channel_has_its_configured_audience(
    boundary: str, principal: str, expected: Audience
) -> None:
    found = audience(source_kind="slack", boundary=boundary, principal=principal)
    assert found is expected


@pytest.mark.requirement("profiles.audience")
def test_no_channel_is_wider_than_the_posture_or_its_token() -> None:
    place = "slack:T/dm"
    for posture in (Audience.TEAM, Audience.PUBLIC):
        assert audience(posture=posture, source_kind="slack", boundary=place) is posture
    named = audience(posture=Audience.TEAM, source_kind="slack", audience="Personal")
    assert named is Audience.TEAM
    narrow = Caller(
        name="slack",
        max_principal=Principal.TRUSTED,
        max_audience=Audience.TEAM,
        channels=SLACK.channels,
    )
    assert audience(narrow, source_kind="slack", boundary=place) is Audience.TEAM


@pytest.mark.requirement("profiles.audience")
def test_an_unknown_audience_is_refused() -> None:
    with pytest.raises(DeniedByPolicyError):
        audience(source_kind="slack", audience="Friends")
