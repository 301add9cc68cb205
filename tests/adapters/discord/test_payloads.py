"""Discord's messages and presses as ours."""

from __future__ import annotations

import pytest

from netclaw.adapters.discord.components import (
    content,
    letters,
    mark,
    nonce_in,
    nonce_of,
    rows,
    token_of,
    unmarked,
)
from netclaw.adapters.discord.payloads import (
    Where,
    at_ms,
    id_at,
    message_of,
    read_click,
    read_message,
    read_where,
    thread_at,
)
from netclaw.adapters.discord.threads import NAME, name_of
from netclaw.adapters.driver import Button, Place

ME = "7"
ROOM = Where(id="10", guild_id="1")
THREAD = Where(id="55", parent_id="10", guild_id="1")
DIRECT = Where(id="20")
BUTTONS = tuple(Button(token=f"t{n}", label=f"L{n}", is_danger=n == 1) for n in range(6))


def message(**more: object) -> dict[str, object]:
    """A message as Discord tells it."""
    return {"id": "55", "type": 0, "author": {"id": "9"}, "content": "hi", **more}


@pytest.mark.requirement("channels_discord.threads")
def test_a_message_has_the_address_that_its_thread_will_have() -> None:
    above = read_message(message(), ROOM, ME)
    below = read_message(message(id="56"), THREAD, ME)
    assert above is not None
    assert below is not None
    assert above.thread == below.thread
    assert above.thread.address == "10/55"
    assert above.thread.boundary == "discord:1/10"
    assert (above.is_in_thread, below.is_in_thread) == (False, True)
    assert (above.event_id, below.event_id) == ("10/55", "10/56")
    assert message_of(below.event_id) == "56"


@pytest.mark.requirement("channels_discord.threads")
def test_the_first_message_of_a_forums_post_begins_a_conversation() -> None:
    first = read_message(message(), THREAD, ME)
    assert first is not None
    assert not first.is_in_thread


@pytest.mark.requirement("channels_discord.direct")
def test_a_persons_messages_are_one_thread() -> None:
    found = [read_message(message(id=str(number)), DIRECT, ME) for number in (1, 2)]
    assert {item.thread for item in found if item} == {thread_at(DIRECT, "")}
    assert thread_at(DIRECT, "").place is Place.DIRECT
    assert thread_at(DIRECT, "").address == "20/20"


@pytest.mark.requirement("channels_discord.messages")
@pytest.mark.parametrize(
    ("author", "more", "is_bot", "is_own"),
    [
        ({"id": "9"}, {}, False, False),
        ({"id": "9", "bot": True}, {}, True, False),
        ({"id": "9"}, {"webhook_id": "9"}, True, False),
        ({"id": ME}, {}, True, True),
    ],
)
def test_bots_and_we_are_marked(
    author: dict[str, object], more: dict[str, object], is_bot: bool, is_own: bool
) -> None:
    found = read_message(message(author=author, **more), ROOM, ME)
    assert found is not None
    assert (found.is_bot, found.is_own) == (is_bot, is_own)


@pytest.mark.requirement("channels_discord.messages")
@pytest.mark.parametrize("kind", [1, 6, 7, 18, 21, None])
def test_what_nobody_wrote_is_no_message(kind: int | None) -> None:
    assert read_message(message(type=kind), ROOM, ME) is None
    assert read_message({"type": 0}, ROOM, ME) is None


@pytest.mark.requirement("channels_discord.messages")
def test_only_discords_own_list_makes_a_mention() -> None:
    called = read_message(message(content="<@!7> hi", mentions=[{"id": ME}]), ROOM, ME)
    code = read_message(message(content="`<@7>`", mentions=[]), ROOM, ME)
    answer = read_message(message(type=19, mentions=[{"id": ME}]), ROOM, ME)
    assert called is not None
    assert (called.is_mention, called.mention, called.text) == (True, "<@7>", "<@7> hi")
    assert code is not None
    assert not code.is_mention
    assert answer is not None
    assert (answer.is_mention, answer.mention) == (True, "")


@pytest.mark.requirement("channels_discord.messages")
@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"content": "<:ok:123> <a:no:5>"}, ":ok: :no:"),
        ({"content": "", "embeds": [{"title": "Down", "description": "db1"}]}, "Down\ndb1"),
        ({"content": "", "message_snapshots": [{"message": {"content": "was said"}}]}, "was said"),
        ({"content": None, "embeds": "x"}, ""),
    ],
)
def test_what_a_message_says(given: dict[str, object], shown: str) -> None:
    found = read_message(message(**given), ROOM, ME)
    assert found is not None
    assert found.text == shown


def test_files_are_read_with_their_facts() -> None:
    file = {"id": "3", "filename": "a.txt", "url": "https://x/a", "size": 5}
    odd = {"id": "4", "url": "https://x/b", "content_type": "text/plain; charset=utf-8"}
    found = read_message(message(attachments=[file, odd, {"id": "5"}, "x"]), ROOM, ME)
    assert found is not None
    facts = [(item.name, item.media_type, item.size_bytes) for item in found.attachments]
    assert facts == [("a.txt", "", 5), ("4", "text/plain", 0)]


@pytest.mark.requirement("channels_discord.press")
def test_a_press_is_read_in_servers_and_direct_conversations() -> None:
    press: dict[str, object] = {
        "type": 3,
        "message": {"id": "60"},
        "data": {"custom_id": "nc:p.1|tok"},
        "member": {"user": {"id": "9"}},
    }
    found = read_click(press, THREAD)
    assert found is not None
    assert (found.token, found.sender_id, found.post_id) == ("tok", "9", "60")
    assert found.thread == thread_at(THREAD, "60")
    alone = read_click({**press, "member": None, "user": {"id": "8"}}, DIRECT)
    assert alone is not None
    assert (alone.sender_id, alone.thread.address) == ("8", "20/20")
    others: tuple[dict[str, object], ...] = ({"type": 2}, {"data": {}}, {"message": {}})
    for other in others:
        assert read_click({**press, **other}, THREAD) is None


def test_ids_tell_the_time() -> None:
    assert at_ms(str(id_at(1_700_000_000_123))) == 1_700_000_000_123
    assert message_of("10/no") == ""


def test_channels_and_threads_are_told_apart() -> None:
    assert read_where({"id": "5", "type": 11, "parent_id": "10"}, "1") == Where(
        id="5", parent_id="10", guild_id="1"
    )
    assert read_where({"id": "5", "type": 0, "parent_id": "2", "guild_id": "1"}) == Where(
        id="5", guild_id="1"
    )
    assert read_where({}) is None


@pytest.mark.requirement("channels_discord.once")
def test_a_post_is_named_within_discords_limits() -> None:
    assert nonce_of("12.0") == "12.0"
    assert len(nonce_of("x" * 80)) == 25
    made = content("hi", "12.0", BUTTONS)
    assert nonce_in(made) == "12.0"
    assert nonce_in({"nonce": "5.0"}) == "5.0"
    assert nonce_in({}) == ""
    long = Button(token="t" * 100, label="x" * 99)
    (row,) = rows("12.0", (long,))
    assert token_of(row["components"][0]["custom_id"]) == long.token  # type: ignore[index]
    assert [len(row["components"]) for row in rows("1", BUTTONS)] == [5, 1]  # type: ignore[arg-type]


@pytest.mark.requirement("channels_discord.once")
def test_a_mark_is_not_seen() -> None:
    whole = f"a reminder{mark('9.0')}"
    assert mark("9.0") != mark("9.1")
    assert unmarked(whole) == "a reminder"
    assert unmarked("a\u200bb\u200b") == "a\u200bb\u200b"
    own = read_message(message(author={"id": ME}, content=whole), ROOM, ME)
    assert own is not None
    assert own.text == "a reminder"


@pytest.mark.requirement("channels_discord.letters")
def test_choices_are_lettered() -> None:
    assert letters(BUTTONS[:2]).splitlines()[1:] == ["A: L0", "B: L1"]


@pytest.mark.requirement("channels_discord.threads")
@pytest.mark.parametrize(
    ("text", "name"), [(" a\n b ", "a b"), ("", NAME), ("x" * 30, "x" * 19 + "\u2026")]
)
def test_a_name_is_one_line(text: str, name: str) -> None:
    assert name_of(text, 20) == name
