"""Chat channels from elsewhere have a kind without a word of their own in the core."""

from __future__ import annotations

import pytest

from netclaw.core.authority import SourceKind


@pytest.mark.requirement("channel_host.fourth")
def test_a_channel_from_elsewhere_has_a_kind_of_its_own() -> None:
    kind = SourceKind.of_channel("loop")
    assert (kind, kind.value, kind.name, str(kind)) == (
        SourceKind("channel:loop"),
        "channel:loop",
        "channel:loop",
        "channel:loop",
    )
    assert {kind: 1}[SourceKind("channel:loop")] == 1
    assert kind != SourceKind.of_channel("pool")
    assert kind not in tuple(SourceKind)


@pytest.mark.parametrize("value", ["", "loop", "channel:", "channel:Loop", "channel:a/b", 7])
def test_what_is_no_name_of_a_channel_is_no_kind(value: object) -> None:
    with pytest.raises(ValueError, match="is not a valid SourceKind"):
        SourceKind(value)  # type: ignore[arg-type]


def test_people_write_on_channels_and_in_the_terminal() -> None:
    channels = (SourceKind.SLACK, SourceKind.DISCORD, SourceKind.MATTERMOST, "channel:loop")
    assert all(SourceKind(kind).is_chat_channel for kind in channels)
    assert all(SourceKind(kind).is_of_people for kind in (*channels, "cli"))
    assert not SourceKind.CLI.is_chat_channel
    assert not SourceKind.REMINDER.is_of_people
