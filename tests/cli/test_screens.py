"""What a conversation looks like, without a terminal."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.cli.app import App, printable
from netclaw.cli.chat.blocks import BlockStream
from netclaw.cli.chat.screen import Screen
from netclaw.cli.words import ago, count, duration, shorten, size
from netclaw.wire.v1.common_pb2 import Output
from netclaw.wire.v1.gateway_pb2 import HistoryItem

TEXT = "# Title\n\nSome *text*\nmore\n\n```py\nx = 1\n\ny = 2\n```\n\n- a\n- b"
BLOCKS = ["# Title", "Some *text*\nmore", "```py\nx = 1\n\ny = 2\n```", "- a\n- b"]


@given(cuts=st.lists(st.integers(0, len(TEXT)), max_size=12).map(sorted))
def test_blocks_do_not_depend_on_how_the_text_is_cut(cuts: list[int]) -> None:
    stream = BlockStream()
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(TEXT)], strict=True):
        found += stream.feed(TEXT[start:end])
    found.append(stream.end())
    assert found == BLOCKS
    assert stream.growing == ""


@given(st.text("a\n`~ ", max_size=60))
def test_blocks_lose_nothing_but_blank_lines(text: str) -> None:
    stream = BlockStream()
    found = [*stream.feed(text), stream.end()]
    kept = "".join("".join(found).split())
    assert kept == "".join(text.split())


@pytest.fixture
def shown() -> list[str]:
    """Lines that were written."""
    return []


@pytest.fixture
def screen(shown: list[str]) -> Screen:
    """A screen that writes into a list."""
    return Screen(write=shown.append)


def plain(lines: list[str]) -> str:
    """Lines without colours."""
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(lines))


def delta(text: str, incarnation: int = 1) -> Output:
    """A piece of text."""
    return Output(type="text_delta", turn_id="t", text=text, incarnation=incarnation)


def test_settled_blocks_are_written_and_the_rest_grows(screen: Screen, shown: list[str]) -> None:
    screen.show(delta("First **block**\n\nSecond"))
    assert plain(shown).split() == ["First", "block"]
    assert screen.growing() == "Second"
    screen.show(Output(type="text", turn_id="t", text="First **block**\n\nSecond one"))
    assert plain(shown).split() == ["First", "block", "Second", "one"]
    assert screen.growing() == ""


def test_a_long_paragraph_shows_its_newest_rows(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netclaw.cli.chat.screen.width", lambda: 20)
    screen.show(delta("word " * 200))
    rows = screen.growing().splitlines()
    assert len(rows) == 8
    assert max(map(len, rows)) <= 20


def test_an_answer_that_begins_again(screen: Screen, shown: list[str]) -> None:
    screen.show(delta("half an answ"))
    screen.show(delta("whole", incarnation=2))
    screen.show(Output(type="text", turn_id="t", text="whole answer"))
    assert plain(shown).split("\n") == [
        "half an answ" + " " * (len(plain(shown).split("\n")[0]) - 12),
        "[restarted] the answer begins again",
        "whole answer" + " " * (len(plain(shown).split("\n")[2]) - 12),
    ]


def test_earlier_messages_are_greyed(screen: Screen, shown: list[str]) -> None:
    screen.greet("notes")
    screen.past(
        [
            HistoryItem(role="user", text="hi"),
            HistoryItem(role="tool", text="hidden"),
            HistoryItem(role="assistant", text="hello\x07"),
            HistoryItem(role="note", text=f'[netclaw] Session "a" changed{" again" * 50}'),
            HistoryItem(role="assistant", text="I look at a."),
        ]
    )
    assert "session notes" in shown[0]
    first, note, last = plain(shown[1:]).split("\n\n")[0], shown[3], plain(shown[-1:])
    assert first == "> hi\nhello\ufffd"
    assert '[note] Session "a" changed again' in note
    assert note.count("\n") == 0
    assert last == "I look at a.\n"
    screen.you("next")
    assert plain(shown[-1:]) == "> next"


def test_words() -> None:
    assert [duration(s) for s in (0.25, 59, 61, 3700, 90_061)] == [
        *("0.2 s", "59 s", "1 min", "1 h 1 min", "1 d 1 h")
    ]
    assert [size(n) for n in (0, 1023, 1536, 10 * 1024, 5 * 1024**4, 9 * 1024**5)] == [
        *("0 B", "1023 B", "1.5 KiB", "10 KiB", "5.0 TiB", "9216 TiB")
    ]
    assert ago(0) == "-"
    assert ago(int(time.time() * 1000) + 5000) == "now"
    assert ago(int(time.time() * 1000) - 120_000).endswith("ago")
    assert shorten("a  b\nc", 10) == "a b c"
    assert shorten("abcdef", 4) == "abc\u2026"
    assert count(1_234_567) == "1,234,567"


def test_text_from_elsewhere_steers_no_terminal() -> None:
    assert printable("a\x1b[31mb\u202e") == "a\ufffd[31mb\ufffd"
    assert printable("a\n\tb\x00", keep_lines=True) == "a\n\tb\ufffd"


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    app = App(environ={})
    assert app.style("x", "red") == "x"
    monkeypatch.setattr("netclaw.cli.app.os.isatty", lambda _descriptor: True)
    assert app.style("x", "red", "bold") == "\033[31;1mx\033[0m"
    assert App(environ={"NO_COLOR": "1"}).style("x", "red") == "x"
    assert App(environ={"TERM": "dumb"}).style("x", "red") == "x"
