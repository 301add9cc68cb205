"""The rules by which an adopted transcript is followed, case by case."""

from __future__ import annotations

import json

import pytest

from netclaw.core.ids import SessionId
from netclaw.core.session.adoption_events import AdoptedMessage, AdoptedRole
from netclaw.core.signals.adopted_history import EVENT_BYTES, TEXT_BYTES, newest_messages
from netclaw.core.signals.events import Actor, ActorType, SignalKind
from netclaw.core.signals.transcripts import Catalog, Line, Speaker
from netclaw.core.signals.upstream import (
    CHUNK_BYTES,
    FileChange,
    FileFacts,
    Misses,
    Scan,
    UpstreamLink,
    UpstreamMarker,
    UpstreamSource,
    activity_signal,
    adopted_signal,
    compare_file,
    is_gone,
    missed,
    missing_signal,
    normalized,
    not_told,
    own_texts,
    rebased,
    scan,
)

SESSION = SessionId("cli/abcdefghij")
NOW = 1_767_225_600_000
HOUR = 3_600_000
MARKER = UpstreamMarker(offset=100, device=1, inode=2, based_at=NOW)
LINK = UpstreamLink(
    session_id=SESSION,
    source=UpstreamSource(catalog=Catalog.JSONL, path="/t/a.jsonl"),
    marker=MARKER,
    created_at=NOW,
    updated_at=NOW,
)


def row(text: str, role: str = "user", at: int | None = None) -> bytes:
    fields = {"role": role, "text": text} | ({} if at is None else {"timestamp": at})
    return json.dumps(fields).encode() + b"\n"


def look(data: bytes, *own: str, limit: int = CHUNK_BYTES) -> Scan:
    return scan(Catalog.JSONL, data, offset=100, own=own_texts(own), limit=limit)


@pytest.mark.requirement("upstream.scan")
def test_messages_of_people_are_counted_and_the_newest_time_is_kept() -> None:
    data = row("a", at=NOW - 5) + row("b", "assistant", at=NOW + 7) + row("c", at=NOW - 9)
    assert look(data) == Scan(offset=100 + len(data), turns=2, newest_at=NOW - 5)
    assert look(row("a")).newest_at is None


@pytest.mark.requirement("upstream.half-line")
def test_half_a_row_waits_for_its_newline() -> None:
    whole, half = row("a"), row("b")[:-1]
    assert look(half) == Scan(offset=100)
    assert look(whole + half) == Scan(offset=100 + len(whole), turns=1)
    assert look(b"") == Scan(offset=100)


@pytest.mark.requirement("upstream.oversize")
def test_a_row_longer_than_a_look_blocks_and_is_never_passed_over() -> None:
    long = row("x" * 100)
    limit = len(long) - 1
    assert look(long[:limit], limit=limit) == Scan(offset=100, is_blocked=True)
    assert look(long, limit=len(long)) == Scan(offset=100 + len(long), turns=1)
    short = row("a")
    ahead = (short + long)[: limit + 1]
    assert look(ahead, limit=limit + 1) == Scan(offset=100 + len(short), turns=1)


@pytest.mark.requirement("upstream.scan")
def test_rows_that_are_no_objects_are_nobodys_and_passed_over() -> None:
    data = b"\n \n[1]\nnot json\n\xff\n" + row("a")
    assert look(data) == Scan(offset=100 + len(data), turns=1, unreadable=3)


@pytest.mark.requirement("upstream.self-echo")
def test_an_echo_of_the_ten_newest_own_messages_is_not_counted() -> None:
    own = [f"message  {number}\n" for number in range(11)]
    for number in range(10):
        assert look(row(f" message {number} "), *own).turns == 0
    assert look(row("message 10"), *own).turns == 1
    assert look(row("Message 1"), *own).turns == 1
    assert look(row("message 1", "assistant"), *own).turns == 0


@pytest.mark.requirement("upstream.self-echo")
def test_white_space_is_collapsed_and_nothing_is_no_echo() -> None:
    assert normalized("\t a \r\n\u00a0 b\u2003") == "a b"
    assert own_texts(["", " \n"]) == frozenset()
    picture = json.dumps({"role": "user", "content": [{"type": "image"}]}).encode() + b"\n"
    assert look(picture, "").turns == 1


@pytest.mark.requirement("upstream.replaced")
def test_a_file_that_shrank_or_is_another_begins_anew_at_its_end() -> None:
    def facts(size: int, device: int = 1, inode: int = 2) -> FileFacts:
        return FileFacts(size=size, device=device, inode=inode, modified_at=NOW)

    assert compare_file(MARKER, facts(100)) is FileChange.SAME
    assert compare_file(MARKER, facts(101)) is FileChange.SAME
    assert compare_file(MARKER, facts(99)) is FileChange.SHRUNK
    assert compare_file(MARKER, facts(200, inode=3)) is FileChange.REPLACED
    assert compare_file(MARKER, facts(200, device=3)) is FileChange.REPLACED
    after = rebased(facts(40, inode=3), at=NOW + 1)
    assert after == UpstreamMarker(offset=40, device=1, inode=3, based_at=NOW + 1)


@pytest.mark.requirement("upstream.time")
@pytest.mark.parametrize(
    ("newest", "modified", "expected"),
    [
        (NOW - HOUR, NOW, NOW - HOUR),
        (NOW + HOUR, NOW, NOW),
        (NOW - 25 * HOUR, NOW, NOW - 24 * HOUR),
        (None, NOW - HOUR, NOW - HOUR),
        (None, NOW - 99 * HOUR, NOW - 24 * HOUR),
        (-1, NOW, NOW - 24 * HOUR),
    ],
)
def test_a_foreign_time_lies_in_the_last_day(
    newest: int | None, modified: int, expected: int
) -> None:
    found = Scan(offset=200, turns=1, newest_at=newest)
    signal = activity_signal(LINK, found, modified_at=modified, now=NOW)
    assert signal.occurred_at == expected


@pytest.mark.requirement("upstream.signal")
def test_one_event_stands_for_all_messages_of_a_look_and_holds_no_word_of_them() -> None:
    signal = activity_signal(LINK, Scan(offset=200, turns=3), modified_at=NOW, now=NOW)
    assert signal.kind is SignalKind.HUMAN_DIRECT_MESSAGE
    assert signal.actor == Actor(type=ActorType.HUMAN)
    assert signal.summary == "human message via jsonl"
    assert (signal.payload.channel, signal.payload.turns) == ("jsonl", 3)
    one = activity_signal(LINK, Scan(offset=200, turns=1), modified_at=NOW, now=NOW)
    assert one.payload.turns == 0


@pytest.mark.requirement("upstream.signal")
def test_the_same_offset_of_a_file_that_was_cut_is_another_activity() -> None:
    found = Scan(offset=200, turns=1)
    first = activity_signal(LINK, found, modified_at=NOW, now=NOW)
    again = activity_signal(LINK, found, modified_at=NOW + 1, now=NOW + 1)
    assert first.dedupe_key == again.dedupe_key
    cut = UpstreamLink(
        session_id=SESSION,
        source=LINK.source,
        marker=UpstreamMarker(offset=100, device=1, inode=2, based_at=NOW + 9),
        created_at=NOW,
        updated_at=NOW + 9,
    )
    assert activity_signal(cut, found, modified_at=NOW, now=NOW).dedupe_key != first.dedupe_key


@pytest.mark.requirement("upstream.missing")
def test_the_third_miss_in_a_row_counts_and_a_changed_link_begins_anew() -> None:
    counts: list[bool] = []
    misses: Misses | None = None
    for _ in range(3):
        misses = missed(misses, LINK)
        counts.append(is_gone(misses))
    assert counts == [False, False, True]
    assert misses is not None
    untold = not_told(misses)
    assert not is_gone(untold)
    assert is_gone(missed(untold, LINK))
    changed = UpstreamLink(
        session_id=SESSION,
        source=LINK.source,
        marker=MARKER,
        created_at=NOW,
        updated_at=NOW + 1,
    )
    assert not is_gone(missed(untold, changed))


@pytest.mark.requirement("upstream.missing")
def test_the_end_of_a_source_is_the_systems_word() -> None:
    signal = missing_signal(LINK, now=NOW + 5)
    assert signal.kind is SignalKind.UPSTREAM_MISSING
    assert (signal.actor.type, signal.payload.channel) == (ActorType.SYSTEM, "jsonl")
    assert signal.occurred_at == NOW + 5
    assert str(LINK.updated_at) in (signal.dedupe_key or "")


@pytest.mark.requirement("upstream.adopted-signal")
def test_an_adoption_is_told_once_in_a_life() -> None:
    person = Actor(type=ActorType.HUMAN, id="operator")
    other = UpstreamSource(catalog=Catalog.CLAUDE_CODE, path="/t/b.jsonl")
    first = adopted_signal(SESSION, LINK.source, person, life=1, at=NOW)
    assert (first.payload.catalog_id, first.payload.host_id) == ("jsonl", "local")
    assert first.actor == person
    assert adopted_signal(SESSION, other, person, life=1, at=NOW).dedupe_key == first.dedupe_key
    assert adopted_signal(SESSION, other, person, life=2, at=NOW).dedupe_key != first.dedupe_key


def said(text: str, speaker: Speaker = Speaker.PERSON, at: int | None = None) -> Line:
    return Line(speaker=speaker, text=text, at=at)


def adopted(text: str, role: AdoptedRole = AdoptedRole.USER, at: int = 0) -> AdoptedMessage:
    return AdoptedMessage(role=role, text=text, at=at)


@pytest.mark.requirement("upstream.history")
def test_the_newest_messages_fit_the_limit_and_older_ones_are_counted() -> None:
    lines = [said(f"m{number}") for number in range(6)]
    history = newest_messages(lines, limit=6)
    assert history.messages == tuple(adopted(f"m{number}") for number in (3, 4, 5))
    assert history.omitted == 3
    assert newest_messages([]).messages == ()


@pytest.mark.requirement("upstream.history")
def test_what_a_model_said_in_several_lines_is_one_message() -> None:
    model, role = Speaker.MODEL, AdoptedRole.ASSISTANT
    lines = [
        said("go", at=NOW),
        said("I look.", model, NOW + 1),
        Line(speaker=Speaker.NOBODY),
        said(" ", model),
        said("Done.", model, NOW + 2),
        said("thanks"),
        said("more"),
    ]
    assert newest_messages(lines).messages == (
        adopted("go", at=NOW),
        adopted("I look.\n\nDone.", role, NOW + 2),
        adopted("thanks"),
        adopted("more"),
    )


@pytest.mark.requirement("upstream.history")
def test_what_a_model_said_in_many_lines_costs_what_it_holds() -> None:
    lines = (said("x" * 99, Speaker.MODEL) for _ in range(60_000))
    (message,) = newest_messages(lines).messages
    assert len(message.text) == TEXT_BYTES
    assert message.text.startswith("x" * 99 + "\n\n" + "x")


@pytest.mark.requirement("upstream.history")
def test_of_a_message_over_the_limit_the_beginning_is_kept() -> None:
    history = newest_messages([said("old"), said("é" * 10)], limit=5)
    assert history.messages == (adopted("éé"),)
    assert history.omitted == 1


@pytest.mark.requirement("upstream.history")
def test_a_long_history_is_several_events_in_order() -> None:
    texts = [f"{number}" + "x" * (EVENT_BYTES // 3) for number in range(7)]
    history = newest_messages([said(text) for text in texts], limit=EVENT_BYTES * 9)
    events = history.events()
    assert [len(event.messages) for event in events] == [2, 2, 2, 1]
    assert [message.text for event in events for message in event.messages] == texts
