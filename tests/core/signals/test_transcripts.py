"""What counts in a transcript of another program: who wrote a line, when, and in which format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from netclaw.core.signals.transcripts import (
    Catalog,
    Line,
    Speaker,
    detect_catalog,
    parse_object,
    read_line,
)

NOBODY = Line(speaker=Speaker.NOBODY)
AT = 1_767_225_600_000
ISO = "2026-01-01T00:00:00.000Z"


def generic(**fields: Any) -> Line | None:
    return read_line(Catalog.JSONL, json.dumps(fields).encode())


def claude(**fields: Any) -> Line | None:
    return read_line(Catalog.CLAUDE_CODE, json.dumps(fields).encode())


def user(content: object, **fields: Any) -> Line | None:
    """A user row as Claude Code writes it."""
    row = {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/p",
        "sessionId": "0d7c",
        "version": "2.1.12",
        "type": "user",
        "message": {"role": "user", "content": content},
        "uuid": "5f0e",
        "timestamp": ISO,
    }
    return claude(**(row | fields))


@pytest.mark.requirement("upstream.person")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"role": "user", "text": "hi"}, Line(speaker=Speaker.PERSON, text="hi")),
        ({"role": "human", "content": "hi"}, Line(speaker=Speaker.PERSON, text="hi")),
        ({"role": "assistant", "text": "yes"}, Line(speaker=Speaker.MODEL, text="yes")),
        (
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"text": "b"}]},
            Line(speaker=Speaker.PERSON, text="a\nb"),
        ),
        ({"role": "user", "content": [{"type": "image"}]}, Line(speaker=Speaker.PERSON)),
        ({"role": "user", "content": [{"type": "tool_result", "content": "x"}]}, NOBODY),
        ({"role": "user", "content": []}, NOBODY),
        ({"role": "user", "content": 7}, NOBODY),
        ({"role": "user"}, NOBODY),
        ({"role": "tool", "content": "x"}, NOBODY),
        ({"role": "system", "text": "x"}, NOBODY),
        ({"role": ["user"], "text": "x"}, NOBODY),
        ({"role": "user", "content": [{"type": []}, 7]}, NOBODY),
        ({"text": "x"}, NOBODY),
        ({}, NOBODY),
    ],
)
def test_of_a_generic_line_the_role_says_who_wrote_it(
    fields: dict[str, Any], expected: Line
) -> None:
    assert generic(**fields) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ISO, AT),
        ("2026-01-01T01:00:00+01:00", AT),
        ("2026-01-01T00:00:00", AT),
        (AT, AT),
        (AT / 1000, AT),
        (AT // 1000, AT),
        ("yesterday", None),
        ("0001-01-01T00:00:00+23:00", -62_135_679_600_000),
        (True, None),
        (None, None),
        (10**400, None),
        ({}, None),
    ],
)
def test_a_time_is_iso_or_a_number(value: object, expected: int | None) -> None:
    line = generic(role="user", text="hi", timestamp=value)
    assert line is not None
    assert line.at == expected


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_no_time(value: str) -> None:
    raw = f'{{"role": "user", "text": "hi", "timestamp": {value}}}'.encode()
    line = read_line(Catalog.JSONL, raw)
    assert line is not None
    assert line.at is None


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"7", b'"x"', b"null", b"\xff\xfe", b"\x00", b"[" * 100_000, b"not json"],
)
def test_what_is_no_object_is_no_line(raw: bytes) -> None:
    assert parse_object(raw) is None
    assert read_line(Catalog.JSONL, raw) is None
    assert read_line(Catalog.CLAUDE_CODE, raw) is None


def test_half_a_character_becomes_one_that_can_be_stored() -> None:
    line = read_line(Catalog.JSONL, b'{"role": "user", "text": "a\\ud800b"}')
    assert line is not None
    assert line.text.encode() == "a\ufffdb".encode()


@pytest.mark.requirement("upstream.claude-code")
@pytest.mark.parametrize(
    "content", ["fix the test", [{"type": "text", "text": "fix the test"}]], ids=["text", "blocks"]
)
def test_a_user_row_of_claude_code_is_a_persons(content: object) -> None:
    assert user(content) == Line(speaker=Speaker.PERSON, text="fix the test", at=AT)
    typed = user(content, origin={"kind": "human"}, promptSource="typed")
    assert typed == Line(speaker=Speaker.PERSON, text="fix the test", at=AT)


@pytest.mark.requirement("upstream.claude-code")
def test_what_a_person_starts_by_a_command_is_a_persons() -> None:
    text = "<command-message>deploy</command-message>\n<command-name>/deploy</command-name>"
    for content in (text, "<bash-input>make</bash-input>"):
        assert user(content) == Line(speaker=Speaker.PERSON, text=content, at=AT)


@pytest.mark.requirement("upstream.claude-code")
@pytest.mark.parametrize(
    "fields",
    [
        {"isMeta": True},
        {"isSidechain": True},
        {"isCompactSummary": True},
        {"isVisibleInTranscriptOnly": True},
        {"origin": {"kind": "task-notification"}},
        {"promptSource": "system"},
        {"type": "progress"},
        {"type": ["user"]},
        {"message": "text"},
        {"message": None},
    ],
)
def test_user_rows_that_the_program_wrote_are_nobodys(fields: dict[str, Any]) -> None:
    assert user("words", **fields) == NOBODY


@pytest.mark.requirement("upstream.claude-code")
@pytest.mark.parametrize(
    "content",
    [
        "<local-command-stdout>done</local-command-stdout>",
        "<local-command-caveat>Caveat: ...</local-command-caveat>",
        "<bash-stdout>done</bash-stdout><bash-stderr></bash-stderr>",
        "<task-notification>\n<task-id>b</task-id></task-notification>",
        "<system-reminder>be brief</system-reminder>",
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
        [{"type": "text", "text": "[Request interrupted by user for tool use]"}],
        [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "words"}],
    ],
)
def test_texts_in_a_persons_place_that_nobody_typed_are_nobodys(content: object) -> None:
    assert user(content) == NOBODY


@pytest.mark.requirement("upstream.claude-code")
def test_what_was_typed_while_the_model_worked_is_a_persons() -> None:
    def queued(**attachment: Any) -> Line | None:
        content = {"type": "queued_command", **attachment}
        return claude(type="attachment", attachment=content, timestamp=ISO)

    typed = Line(speaker=Speaker.PERSON, text="and the docs", at=AT)
    assert queued(prompt="and the docs", commandMode="prompt", origin={"kind": "human"}) == typed
    assert queued(prompt="and the docs") == typed
    assert queued(prompt="x", commandMode="task-notification") == NOBODY
    assert queued(prompt="x", origin={"kind": "task-notification"}) == NOBODY
    assert queued(prompt="<task-notification>x</task-notification>") == NOBODY
    assert queued(type="todo_reminder", prompt="x") == NOBODY
    row = {"type": "queue-operation", "operation": "enqueue", "content": "and the docs"}
    assert claude(**row) == NOBODY


@pytest.mark.requirement("upstream.claude-code")
def test_of_an_assistant_row_only_the_words_are_taken() -> None:
    def said(*blocks: dict[str, Any]) -> Line | None:
        return claude(type="assistant", timestamp=ISO, message={"content": list(blocks)})

    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    text = {"type": "text", "text": "Done."}
    assert said(thinking, text, call) == Line(speaker=Speaker.MODEL, text="Done.", at=AT)
    assert said(thinking) == NOBODY
    assert said(call) == NOBODY


SUMMARY = {"type": "summary", "summary": "A title", "leafUuid": "5f0e"}
SNAPSHOT = {"type": "file-history-snapshot", "messageId": "5f0e", "snapshot": {}}


@pytest.mark.requirement("upstream.formats")
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"role": "user", "text": "hi"}], Catalog.JSONL),
        ([{"meta": 1}, {"role": "assistant", "content": []}], Catalog.JSONL),
        ([{"type": "user", "message": {"role": "user", "content": "hi"}}], Catalog.CLAUDE_CODE),
        (
            [SUMMARY, SNAPSHOT, {"type": "assistant", "message": {"content": []}}],
            Catalog.CLAUDE_CODE,
        ),
        ([SUMMARY, SNAPSHOT], None),
        ([{"type": "message", "message": {"role": "user", "content": "hi"}}], None),
        ([{"name": "x", "version": "1"}], None),
        ([], None),
    ],
)
def test_the_first_message_shows_the_format(
    rows: list[dict[str, Any]], expected: Catalog | None
) -> None:
    assert detect_catalog(rows) is expected
