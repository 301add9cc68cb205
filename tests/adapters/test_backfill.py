"""What was written meanwhile comes once, as context, and in one input with what it led to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.adapters.backfill import (
    CURSOR_CHARS,
    QUOTED,
    REMEMBERED,
    Cursor,
    Threads,
    ThreadState,
    gap_before,
    speakers,
)
from netclaw.adapters.driver import ChannelConfig, Health, Received, RefusedFailure
from netclaw.adapters.driver import TransientFailure as Transient
from tests.adapters.ingress_world import CONFIG, US, Ingress, message, thread


@pytest.fixture
def ingress(tmp_path: Path) -> Ingress:
    """Ingress of a channel that serves C1 and C2."""
    return Ingress(tmp_path)


def talk(
    number: int, text: str, sender: str = "U2", *, is_own: bool = False, is_bot: bool = False
) -> Received:
    """A message below the first one of its thread, in the order of its number."""
    return message(
        f"t{number}",
        text,
        sender=sender,
        at_ms=number * 1000,
        is_in_thread=True,
        is_own=is_own,
        is_bot=is_bot,
    )


def said(ingress: Ingress, event_id: str) -> list[str]:
    """The texts that an input quotes, and its own words."""
    lines = ingress.daemon.input(event_id).text.split("\n")
    return [json.loads(line)["text"] if line.startswith("{") else line for line in lines]


def quotes(ingress: Ingress, event_id: str) -> list[str]:
    """The texts that an input quotes."""
    lines = ingress.daemon.input(event_id).text.split("\n")
    return [json.loads(line)["text"] for line in lines if line.startswith("{")]


@pytest.mark.requirement("channels.backfill")
async def test_a_mention_in_the_middle_of_a_thread_brings_what_was_said_before(
    ingress: Ingress,
) -> None:
    mention = talk(4, f"{US} what do you think?", sender="U1")
    ingress.platform.history["C1/1"] = [
        talk(1, "it is broken"),
        talk(2, "since when?", sender="U3"),
        talk(3, "an old answer of ours", sender="BOT", is_own=True, is_bot=True),
        mention,
    ]
    await ingress.take(mention)
    assert quotes(ingress, "t4") == ["it is broken", "since when?", "an old answer of ours"]
    admitted = ingress.daemon.input("t4")
    assert admitted.text.startswith("[adopted context: 3 messages written in this thread before")
    assert admitted.text.endswith("\n[adopted context ends]\nwhat do you think?")
    assert list(admitted.adopted_speakers) == ["U2", "U3"]
    assert admitted.sender.sender_id == "U1"


@pytest.mark.requirement("channels.backfill")
async def test_a_later_mention_brings_only_what_was_not_read(tmp_path: Path) -> None:
    config = ChannelConfig(
        name="slack", allowed_channel_ids=frozenset({"C1"}), mention_required_in_thread=True
    )
    ingress = Ingress(tmp_path, config)
    first, chat, answer = talk(1, f"{US} one"), talk(2, "aside"), talk(3, "ours", is_own=True)
    second = talk(4, f"{US} two")
    ingress.platform.history["C1/1"] = [first, chat, answer, second]
    await ingress.take(first, chat, answer, second)
    assert said(ingress, "t1") == ["one"]
    assert quotes(ingress, "t4") == ["aside"]
    assert [after for _, after in ingress.platform.backfills] == ["", "t1"]
    third = talk(5, f"{US} three")
    ingress.platform.history["C1/1"].append(third)
    await ingress.take(third)
    assert said(ingress, "t5") == ["three"]
    assert len(ingress.platform.backfills) == 2


@pytest.mark.requirement("channels.backfill")
async def test_what_was_written_while_nobody_listened_comes_with_the_next_message(
    ingress: Ingress,
) -> None:
    await ingress.take(message("t1", f"{US} one"))
    assert ingress.platform.backfills == []
    missed, live = talk(2, "missed"), talk(3, "live")
    ingress.platform.history["C1/1"] = [talk(1, f"{US} one"), missed, live]
    ingress.restart()
    await ingress.take(live)
    assert ingress.platform.backfills == [("C1/1", "t1")]
    assert quotes(ingress, "t3") == ["missed"]
    # Delivered late all the same: it was quoted, and is no message of its own.
    await ingress.take(missed)
    assert ingress.daemon.order == [("C1/1", "t1"), ("C1/1", "t3")]
    ingress.restart()
    await ingress.take(missed)
    assert len(ingress.daemon.order) == 2
    assert ingress.acknowledged == ["t1", "t3", "t2", "t2"]


@pytest.mark.requirement("channels.backfill")
async def test_what_was_said_to_us_while_nobody_listened_is_marked(ingress: Ingress) -> None:
    ingress.platform.history["C1/1"] = [talk(1, f"{US} help"), talk(2, "aside")]
    await ingress.take(talk(3, f"{US} anybody?"))
    lines = ingress.daemon.input("t3").text.split("\n")
    found = [json.loads(line) for line in lines if line.startswith("{")]
    assert [quote.get("mentionsYou", False) for quote in found] == [True, False]


@pytest.mark.requirement("channels.backfill")
async def test_a_lost_connection_leaves_a_gap(ingress: Ingress) -> None:
    await ingress.take(message("t1", f"{US} one"))
    ingress.platform.state = Health.DISCONNECTED
    ingress.counters.reconnects += 1
    ingress.platform.history["C1/1"] = [talk(1, "x"), talk(2, "queued"), talk(3, "missed")]
    await ingress.take(talk(2, "queued"))
    ingress.platform.state = Health.READY
    await ingress.take(talk(4, "live"), talk(5, "next"))
    assert quotes(ingress, "t4") == ["missed"]
    assert said(ingress, "t5") == ["next"]


@pytest.mark.requirement("channels.backfill")
async def test_what_comes_later_comes_by_itself(ingress: Ingress) -> None:
    early, late = talk(2, f"{US} early"), talk(3, "late")
    ingress.platform.history["C1/1"] = [talk(1, "before"), early, late]
    await ingress.take(early, late)
    assert quotes(ingress, "t2") == ["before"]
    assert said(ingress, "t3") == ["late"]


@pytest.mark.requirement("channels.backfill")
async def test_what_was_admitted_is_not_quoted_again(ingress: Ingress) -> None:
    """Events out of order: the cursor does not move back, and inputs are known by their ids."""
    await ingress.take(message("t1", f"{US} one"), talk(3, "three"), talk(2, "two"))
    ingress.platform.history["C1/1"] = [talk(1, "x"), talk(2, "two"), talk(3, "three")]
    ingress.restart()
    await ingress.take(talk(4, "four"))
    assert said(ingress, "t4") == ["four"]
    assert ingress.platform.backfills == [("C1/1", "t3")]
    cursor = Cursor.parse(ingress.daemon.sessions["C1/1"].cursor)
    assert (cursor.after, cursor.at_ms) == ("t4", 4000)


@pytest.mark.requirement("channels.backfill")
@pytest.mark.parametrize(
    "failures",
    [
        [RefusedFailure("Not allowed to read.")],
        [Transient("Busy."), Transient("Busy.")],
        [Transient("Busy.", retry_after_s=60.0)],
    ],
)
async def test_a_gap_that_cannot_be_had_now_is_asked_for_with_the_next_message(
    ingress: Ingress, failures: list[RefusedFailure | Transient]
) -> None:
    ingress.platform.history["C1/1"] = [talk(1, "before")]
    ingress.platform.backfill_failures.extend(failures)
    await ingress.take(talk(2, f"{US} two"))
    assert said(ingress, "t2") == ["two"]
    assert ingress.daemon.sessions["C1/1"].cursor == ""
    await ingress.take(talk(3, "three"))
    assert quotes(ingress, "t3") == ["before"]


@pytest.mark.requirement("channels.backfill")
async def test_one_short_failure_is_waited_out(ingress: Ingress) -> None:
    ingress.platform.history["C1/1"] = [talk(1, "before")]
    ingress.platform.backfill_failures.append(Transient("Busy."))
    await ingress.take(talk(2, f"{US} two"))
    assert quotes(ingress, "t2") == ["before"]


@pytest.mark.requirement("channels.backfill")
async def test_a_message_that_begins_a_conversation_has_nothing_before_it(
    ingress: Ingress,
) -> None:
    await ingress.take(message("e1"), message("e2", "more", is_in_thread=True))
    assert ingress.platform.backfills == []


@pytest.mark.requirement("channels.backfill")
async def test_old_files_come_with_their_messages(ingress: Ingress) -> None:
    old = ingress.platform.file("old.pdf", b"%PDF-1.7 old")
    bad = ingress.platform.file("old.png", b"", size=1_000_000)
    new = ingress.platform.file("new.txt", b"new")
    ingress.platform.history["C1/1"] = [
        message("t1", "see this", sender="U2", at_ms=1, files=(old, bad), is_in_thread=True)
    ]
    await ingress.take(message("t2", f"{US} and", at_ms=2, files=(new,), is_in_thread=True))
    text = ingress.daemon.input("t2").text
    files = [
        json.loads(line.removeprefix("[file received: ").removesuffix("]"))
        for line in text.split("\n")
        if line.startswith("[file received: ")
    ]
    assert [(found["path"].rpartition("/")[2], found.get("from")) for found in files] == [
        ("new.txt", None),
        ("old.pdf", "U2"),
    ]
    assert "old.png" not in text
    assert ingress.told == []  # nobody sends the old ones now


@pytest.mark.requirement("channels.backfill")
async def test_old_files_beyond_the_number_of_one_message_are_left(ingress: Ingress) -> None:
    files = tuple(ingress.platform.file(f"{n}.txt", b"x") for n in range(5))
    ingress.platform.history["C1/1"] = [
        message(f"t{n}", "x", at_ms=n, files=(files[n],), is_in_thread=True) for n in range(5)
    ]
    await ingress.take(message("t9", f"{US} and", at_ms=9, is_in_thread=True))
    assert sorted(ingress.platform.downloads) == ["2.txt", "3.txt", "4.txt"]


# Pure -----------------------------------------------------------------------------------------


@pytest.mark.requirement("channels.backfill")
def test_words_of_people_who_are_not_served_are_not_quoted() -> None:
    config = ChannelConfig(
        name="slack",
        allowed_channel_ids=frozenset({"C1"}),
        allowed_user_ids=frozenset({"U1", "U2"}),
    )
    found = (talk(1, "a"), talk(2, "b", sender="U9"), talk(3, "", sender="U1"), talk(4, "c"))
    gap = gap_before(found, talk(5, "d", sender="U1"), Cursor(), config)
    assert [received.text for received in gap] == ["a", "c"]


@pytest.mark.requirement("channels.backfill")
def test_only_the_newest_are_quoted_and_speakers_named_once() -> None:
    found = tuple(talk(number, "x", sender=f"U{number % 3}") for number in range(200))
    gap = gap_before(found, talk(500, "y"), Cursor(), CONFIG)
    assert [received.event_id for received in gap] == [f"t{n}" for n in range(200 - QUOTED, 200)]
    assert speakers(gap) == ("U0", "U1", "U2")


events = st.integers(min_value=0, max_value=30).map(lambda number: talk(number, f"x{number}"))


@pytest.mark.requirement("channels.backfill")
@given(st.lists(events), events, st.lists(st.text(max_size=9), max_size=300), st.booleans())
def test_a_gap_is_ordered_once_and_before_its_message(
    found: list[Received], live: Received, adopted: list[str], was_read: bool
) -> None:
    ids = (*adopted, "t3", "t4")
    cursor = Cursor(after="t2" if was_read else "", at_ms=2000, adopted=ids)
    gap = gap_before(tuple(found), live, cursor, CONFIG)
    names = [received.event_id for received in gap]
    assert len(set(names)) == len(names) <= QUOTED
    assert not {"t3", "t4", live.event_id, cursor.after} & set(names)
    assert all(received.at_ms <= live.at_ms for received in gap)
    assert list(gap) == sorted(gap, key=lambda received: received.at_ms)
    moved = cursor.moved(live, tuple(names))
    assert moved.at_ms >= cursor.at_ms
    assert moved.adopted[len(moved.adopted) - len(names) :] == tuple(names)
    assert len(moved.adopted) <= REMEMBERED
    assert Cursor.parse(str(moved)) == moved


@pytest.mark.requirement("channels.cursor")
@pytest.mark.parametrize("text", ["", "nonsense", "[]", "3", '{"at": "x"}', '{"adopted": 3}'])
def test_a_cursor_that_cannot_be_read_is_an_empty_one(text: str) -> None:
    assert Cursor.parse(text) == Cursor()


@pytest.mark.requirement("channels.cursor")
def test_a_cursor_stays_as_short_as_the_daemon_takes_it() -> None:
    cursor = Cursor(after="a", adopted=tuple(f"{n:03}" + "x" * 300 for n in range(REMEMBERED)))
    text = str(cursor)
    assert len(text) <= CURSOR_CHARS
    kept = Cursor.parse(text).adopted
    assert kept == cursor.adopted[-len(kept) :]


def test_threads_are_remembered_up_to_a_limit() -> None:
    threads = Threads(limit=2)
    for name in ("a", "b"):
        threads.put(name, ThreadState(cursor=Cursor()))
    assert threads.get("a") is not None
    threads.put(thread().address, ThreadState(cursor=Cursor()))
    assert threads.get("b") is None
    threads.forget("a")
    assert threads.get("a") is None
