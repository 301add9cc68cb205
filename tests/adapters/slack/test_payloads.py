"""What Slack's payloads mean."""

from __future__ import annotations

import pytest

from netclaw.adapters.driver import Attachment, ChannelConfig, Clicked, Place, Received
from netclaw.adapters.routing import Verdict, route
from netclaw.adapters.slack.payloads import Self, order_of, read_body, ts_of

ME = Self(user_id="U0BOT", bot_id="B0BOT", team_id="T1")
TS, ROOT = "1700000002.000200", "1700000001.000100"
Json = dict[str, object]


def read(**event: object) -> Received | Clicked | None:
    """A message event with defaults."""
    full: Json = {"type": "message", "channel": "C1", "user": "U1", "text": "hi", "ts": TS}
    return read_body({"type": "event_callback", "event": full | event}, ME)


def message(**event: object) -> Received:
    """The same, which is a message."""
    found = read(**event)
    assert isinstance(found, Received)
    return found


@pytest.mark.requirement("channels_slack.threads")
def test_a_message_names_its_thread() -> None:
    begun, reply = message(), message(thread_ts=ROOT)
    assert begun.thread.address == f"C1/{TS}"
    assert begun.thread.boundary == "slack:T1/C1"
    assert not begun.is_in_thread
    assert reply.thread.address == f"C1/{ROOT}"
    assert reply.is_in_thread
    assert begun.at_ms == 1_700_000_002_000
    assert not message(ts=ROOT, thread_ts=ROOT).is_in_thread


@pytest.mark.parametrize(
    ("channel", "place"), [("C1", Place.CHANNEL), ("G1", Place.CHANNEL), ("D1", Place.DIRECT)]
)
def test_a_conversation_with_one_person_is_direct(channel: str, place: Place) -> None:
    assert message(channel=channel).thread.place is place


@pytest.mark.requirement("channels_slack.mention-once")
def test_both_tellings_of_a_mention_are_one() -> None:
    told = message(text="<@U0BOT|netclaw> go")
    again = message(type="app_mention", text="<@U0BOT|netclaw> go")
    assert told == again
    assert told.event_id == f"C1/{TS}"
    assert told.is_mention
    assert told.text.replace(told.mention, "").strip() == "go"


def test_a_typed_mention_is_none() -> None:
    found = message(text="&lt;@U0BOT&gt; go")
    assert (found.is_mention, found.mention) == (False, "")


@pytest.mark.requirement("channels_slack.not-messages")
@pytest.mark.parametrize(
    "event",
    [
        {"subtype": "message_changed", "message": {"text": "new"}, "hidden": True},
        {"subtype": "message_deleted", "deleted_ts": ROOT},
        {"subtype": "channel_join"},
        {"subtype": "channel_topic"},
        {"hidden": True},
        {"type": "reaction_added"},
        {"ts": "yesterday"},
        {"ts": None},
        {"channel": ""},
        {"channel": 5},
    ],
)
def test_what_nobody_wrote_is_no_message(event: Json) -> None:
    assert read(**event) is None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"event": "text"},
        {"type": "block_actions"},
        {"type": "block_actions", "actions": ["x"]},
        {"type": "block_actions", "actions": [{"action_id": "theirs", "value": "v"}]},
        {"type": "view_submission"},
    ],
)
def test_what_is_malformed_or_not_for_us_is_nothing(body: Json) -> None:
    assert read_body(body, ME) is None


@pytest.mark.parametrize(
    ("event", "is_bot", "is_own", "sender"),
    [
        ({}, False, False, "U1"),
        ({"bot_id": "B2"}, True, False, "U1"),
        ({"bot_id": "B2", "user": None, "subtype": "bot_message"}, True, False, "B2"),
        ({"user": "U0BOT", "bot_id": "B0BOT"}, True, True, "U0BOT"),
        ({"user": None, "bot_id": "B0BOT"}, True, True, "B0BOT"),
        ({"user": None}, False, False, ""),
    ],
)
def test_bots_and_we_ourselves_are_told_apart(
    event: Json, is_bot: bool, is_own: bool, sender: str
) -> None:
    found = message(**event)
    assert (found.is_bot, found.is_own, found.sender_id) == (is_bot, is_own, sender)


def test_files_come_with_their_facts() -> None:
    files = [
        {"id": "F1", "name": "a.png", "mimetype": "image/png", "size": 12},
        {"id": "F2", "mode": "tombstone"},
        "nonsense",
    ]
    found = message(subtype="file_share", files=files)
    assert found.attachments == (
        Attachment(handle="F1", name="a.png", media_type="image/png", size_bytes=12),
    )
    assert found.is_file_share


@pytest.mark.requirement("channel_sends.file-share")
def test_a_file_that_was_shared_stands_for_a_mention() -> None:
    shared = message(subtype="file_share", files=[{"id": "F1", "name": "a.png", "size": 12}])
    told = message(text="look at this")
    config = ChannelConfig(name="slack", mention_only=True)
    verdicts = [route(config, one, has_session=False).verdict for one in (shared, told)]
    assert verdicts == [Verdict.START_OR_CONTINUE, Verdict.IGNORE]


def test_an_alert_without_text_is_read_from_its_attachments() -> None:
    found = message(text="", bot_id="B2", attachments=[{"fallback": "disk &lt;5 %"}, {"text": "x"}])
    assert found.text == "disk <5 %\nx"


@pytest.mark.requirement("channels_slack.threads")
def test_a_press_names_the_thread_of_its_message() -> None:
    body: Json = {
        "type": "block_actions",
        "user": {"id": "U1"},
        "channel": {"id": "C1"},
        "message": {"ts": TS, "thread_ts": ROOT},
        "actions": [{"action_id": "netclaw_choice_0", "value": "tok"}],
    }
    found = read_body(body, ME)
    assert isinstance(found, Clicked)
    assert (found.token, found.sender_id, found.post_id) == ("tok", "U1", TS)
    assert found.thread == message(thread_ts=ROOT).thread


def test_time_stamps_are_ordered_as_numbers() -> None:
    assert order_of("999999999.000001") < order_of("1000000000.000000")
    assert order_of("5.1") > order_of("5.000002")
    assert (ts_of(f"C1/{TS}"), ts_of("C1/x"), ts_of("")) == (TS, "", "")
