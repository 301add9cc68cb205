"""Mattermost's posts and text as ours."""

from __future__ import annotations

import json
from typing import Any

import pytest

from netclaw.adapters.driver import Place
from netclaw.adapters.mattermost.payloads import (
    Channel,
    Self,
    event_id,
    order_of,
    read_post,
    read_posted,
)
from netclaw.adapters.mattermost.text import mention_in, to_mattermost
from tests.fakes.mattermost_store import ANN, BOT, CHANNEL, TEAM, Store

ME = Self(user_id=BOT, username="netclaw")
ROOM = Channel(id=CHANNEL, kind="O", team_id=TEAM)


def post(text: str = "hello", **more: Any) -> dict[str, Any]:
    """A post in the room."""
    return Store().add_post(CHANNEL, ANN, text) | more


@pytest.mark.requirement("channels_mattermost.read")
def test_a_root_post_is_a_thread_of_its_own() -> None:
    given = post("@netclaw hello")
    received = read_post(given, ROOM, ME)
    assert received is not None
    assert received.thread.address == f"{CHANNEL}/{given['id']}"
    assert received.thread.boundary == f"mattermost:{TEAM}/{CHANNEL}"
    assert received.thread.place is Place.CHANNEL
    assert (received.sender_id, received.mention) == (ANN, "@netclaw")
    assert (received.is_mention, received.is_in_thread, received.is_bot) == (True, False, False)
    assert received.event_id == event_id(given["create_at"], given["id"])
    assert order_of(received.event_id) == (given["create_at"], given["id"])
    assert order_of("of another channel") == (0, "")


@pytest.mark.requirement("channels_mattermost.read")
def test_direct_and_group_conversations_belong_to_the_server() -> None:
    given = post()
    direct = read_post(given, Channel(id=CHANNEL, kind="D"), ME)
    group = read_post(given, Channel(id=CHANNEL, kind="G"), ME)
    assert direct is not None
    assert group is not None
    assert (direct.thread.place, group.thread.place) == (Place.DIRECT, Place.CHANNEL)
    assert direct.thread.boundary == f"mattermost:direct/{CHANNEL}"


@pytest.mark.requirement("channels_mattermost.read")
@pytest.mark.parametrize(
    "more",
    [
        {"type": "system_join_channel"},
        {"delete_at": 5},
        {"original_id": "x" * 26},
        {"channel_id": "another"},
        {"create_at": 0},
        {"create_at": "yesterday"},
        {"id": "no/id"},
        {"id": 7},
    ],
)
def test_what_is_no_message_is_nothing(more: dict[str, Any]) -> None:
    assert read_post(post(**more), ROOM, ME) is None


@pytest.mark.requirement("channels_mattermost.read")
def test_machines_and_we_ourselves_are_marked() -> None:
    ours = read_post(post(user_id=BOT), ROOM, ME)
    hook = read_post(post(props={"from_webhook": "true"}), ROOM, ME)
    assert ours is not None
    assert hook is not None
    assert (ours.is_own, ours.is_bot) == (True, True)
    assert (hook.is_own, hook.is_bot) == (False, True)


@pytest.mark.requirement("channels_mattermost.read")
def test_an_alert_says_what_its_attachments_say() -> None:
    props = {"attachments": [{"fallback": "down"}, {"text": "again"}, "rubbish", {}]}
    received = read_post(post("", props=props), ROOM, ME)
    assert received is not None
    assert received.text == "down\nagain"


@pytest.mark.requirement("channels_mattermost.read")
def test_files_are_told_of() -> None:
    files = [
        {"id": "f1", "name": "a.txt", "mime_type": "text/plain; charset=utf-8", "size": 3},
        {"id": "f2", "size": "many"},
        {"id": "f3", "delete_at": 4},
        {"name": "without an id"},
        "rubbish",
    ]
    received = read_post(post(metadata={"files": files}), ROOM, ME)
    assert received is not None
    first, second = received.attachments
    assert (first.handle, first.name, first.media_type) == ("f1", "a.txt", "text/plain")
    assert (second.handle, second.name, second.size_bytes) == ("f2", "f2", 0)


@pytest.mark.requirement("channels_mattermost.read")
@pytest.mark.parametrize("data", [{}, {"post": "{"}, {"post": "[]"}, {"post": 3}])
def test_an_event_that_is_rubbish_is_nothing(data: dict[str, Any]) -> None:
    assert read_posted(data) == ({}, None)


@pytest.mark.requirement("channels_mattermost.read")
def test_an_event_names_its_channel() -> None:
    given = post()
    whole = {"post": json.dumps(given), "channel_type": "O", "team_id": TEAM}
    assert read_posted(whole) == (given, ROOM)
    assert read_posted({"post": json.dumps(given)}) == (given, None)


@pytest.mark.requirement("channels_mattermost.read")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@netclaw hi", "@netclaw"),
        ("hi @NetClaw.", "@NetClaw"),
        ("(@netclaw)", "@netclaw"),
        ("@netclaw-two", ""),
        ("@netclaw.two", ""),
        ("me@netclaw", ""),
        ("`@netclaw`", ""),
        ("~~~\n@netclaw\n~~~", ""),
        ("```\n@netclaw\n```\n@netclaw", "@netclaw"),
        ("netclaw", ""),
        ("``a ` @netclaw ` b`` c", ""),
        ("a ` b `` @netclaw", "@netclaw"),
        ("~~~\n@netclaw", ""),
    ],
)
def test_what_addresses_us(text: str, found: str) -> None:
    assert mention_in(text, "netclaw") == found


@pytest.mark.requirement("channels_mattermost.read")
@pytest.mark.parametrize("piece", ["`", "`a", "` `` ", "~~~\n", "@netclaw."])
def test_no_text_is_slow_to_read(piece: str) -> None:
    # What grew faster than the text took minutes here; the test's own time limit is the measure.
    assert mention_in(piece * 20_000 + " @netclaw", "netclaw") in ("", "@netclaw")


@pytest.mark.requirement("channels_mattermost.quiet")
def test_a_reply_calls_nobody_together() -> None:
    said = to_mattermost("@all @Channel @here @allison a@b.c")
    assert "@all " not in said
    assert said.lower().count("\uff20") == 3
    assert "@allison" in said
    assert len(said) == len("@all @Channel @here @allison a@b.c")
