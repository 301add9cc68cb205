"""Who is served, as whom and with which audience."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.adapters.acl import Refusal, Standing, judge, serves_channel
from netclaw.adapters.driver import ChannelConfig, Place, Thread
from netclaw.core.authority import Audience, Principal
from tests.adapters.ingress_world import message, thread

OPEN = ChannelConfig(
    name="slack", allowed_channel_ids=frozenset({"C1"}), allow_direct_messages=True
)
LISTED = replace(OPEN, allowed_user_ids=frozenset({"U1"}))
NOTHING = ChannelConfig(name="slack")
HERE = thread()
DIRECT = thread(channel="D1", place=Place.DIRECT)
UNKNOWN = thread(channel="D1", place=Place.UNKNOWN)


@pytest.mark.requirement("channels.acl")
@pytest.mark.parametrize(
    ("config", "where", "sender", "refusal"),
    [
        (NOTHING, HERE, "U1", Refusal.CHANNEL),
        (NOTHING, DIRECT, "U1", Refusal.DIRECT),
        (NOTHING, thread(channel=""), "U1", Refusal.CHANNEL),
        (OPEN, HERE, "", Refusal.NO_SENDER),
        (OPEN, DIRECT, "", Refusal.NO_SENDER),
        (OPEN, thread(channel="C2"), "U1", Refusal.CHANNEL),
        (OPEN, thread(channel="c1"), "U1", Refusal.CHANNEL),
        (OPEN, UNKNOWN, "U1", Refusal.CHANNEL),
        (replace(OPEN, allow_direct_messages=False), DIRECT, "U1", Refusal.DIRECT),
        (LISTED, HERE, "U2", Refusal.USER),
        (LISTED, HERE, "u1", Refusal.USER),
        (LISTED, DIRECT, "U2", Refusal.USER),
        (replace(OPEN, channel_audiences={"C1": "Everyone"}), HERE, "U1", Refusal.AUDIENCE),
        (replace(OPEN, channel_audiences={"C1": ""}), HERE, "U1", Refusal.AUDIENCE),
        (replace(OPEN, channel_audiences={"dm": "team"}), DIRECT, "U1", Refusal.AUDIENCE),
    ],
)
def test_nobody_is_served_who_was_not_allowed(
    config: ChannelConfig, where: Thread, sender: str, refusal: Refusal
) -> None:
    received = message("e", where=where, sender=sender)
    assert judge(config, received) is refusal


@pytest.mark.requirement("channels.acl")
def test_reasons_are_stable_words() -> None:
    assert {refusal.value for refusal in Refusal} == {
        *("no_sender", "channel_not_allowed", "user_not_allowed", "DmNotAllowed"),
        "unknown_audience",
    }


@pytest.mark.requirement("channels.acl")
def test_the_default_channel_is_served_beside_the_listed_ones() -> None:
    config = replace(OPEN, default_channel_id="C9")
    assert [serves_channel(config, name) for name in ("C1", "C9", "C2", "")] == [
        *(True, True),
        *(False, False),
    ]


@pytest.mark.requirement("channels.audience")
@pytest.mark.parametrize(
    ("config", "where", "sender", "audience"),
    [
        (OPEN, HERE, "U1", Audience.TEAM),
        (OPEN, DIRECT, "U1", Audience.PUBLIC),
        (LISTED, DIRECT, "U1", Audience.TEAM),
        (replace(OPEN, channel_audiences={"C1": "Public"}), HERE, "U1", Audience.PUBLIC),
        (replace(OPEN, channel_audiences={"dm": "Public"}), HERE, "U1", Audience.TEAM),
        (replace(OPEN, channel_audiences={"dm": "Team"}), DIRECT, "U1", Audience.TEAM),
        (
            replace(OPEN, channel_audiences={"dm": "Team", "D1": "Personal"}),
            *(DIRECT, "U1", Audience.PERSONAL),
        ),
        (replace(OPEN, channel_audiences={"C2": "Personal"}), HERE, "U1", Audience.TEAM),
    ],
)
def test_each_message_has_the_audience_of_its_place(
    config: ChannelConfig, where: Thread, sender: str, audience: Audience
) -> None:
    received = message("e", where=where, sender=sender)
    found = judge(config, received)
    assert isinstance(found, Standing)
    assert found.audience is audience


@pytest.mark.requirement("channels.principal")
def test_listed_people_are_trusted_and_others_are_not() -> None:
    listed, other = judge(LISTED, message("e")), judge(OPEN, message("e"))
    assert isinstance(listed, Standing)
    assert isinstance(other, Standing)
    assert (listed.principal, other.principal) == (Principal.TRUSTED, Principal.UNTRUSTED)
