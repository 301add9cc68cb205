"""Decoding of literal text: quotes, `$'..'`, braces, globs."""

from __future__ import annotations

import pytest

from netclaw.core.authz.decoding import (
    ANY,
    CLASS,
    STAR,
    UNKNOWN,
    ansi_c,
    close_classes,
    double_quoted,
    expand_braces,
    glob_matches,
    has_glob,
    is_plain,
    shown,
    unquoted,
)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("a\\ b", "a b"),
        ("a\\\nb", "ab"),
        ("*?[x]", f"{STAR}{ANY}{CLASS}x]"),
        ("\\*", "*"),
        ("lone\\", None),
    ],
)
def test_unquoted_text(text: str, shape: str | None) -> None:
    assert unquoted(text) == shape


@pytest.mark.parametrize(
    ("text", "plain"),
    [("a\\$b", "a$b"), ("a\\b", "a\\b"), ("a\\\nb", "ab"), ('\\"', '"'), ("*", "*")],
)
def test_double_quoted_text(text: str, plain: str) -> None:
    assert double_quoted(text) == plain


def test_a_document_keeps_the_backslash_before_a_quote() -> None:
    assert double_quoted('\\"', escapes="$`\\") == '\\"'


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\\x2fetc", "/etc"),
        ("\\101\\u00e9\\U0001F600", "A\u00e9\U0001f600"),
        ("\\xc3\\xa9", "\u00e9"),
        ("\\n\\t\\\\\\'\\\"\\?", "\n\t\\'\"?"),
        ("plain \u00e4", "plain \u00e4"),
        ("\\x", None),
        ("\\cA", None),
        ("\\a", None),
        ("\\e", None),
        ("\\0", None),
        ("\\x01", None),
        ("\\xff", None),
        ("\\ud800", None),
        ("\\UFFFFFFFF", None),
    ],
)
def test_ansi_c_text(text: str, plain: str | None) -> None:
    assert ansi_c(text) == plain


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("plain", ["plain"]),
        ("a{b,c}d", ["abd", "acd"]),
        ("{a,{b,c}}", ["a", "b", "c"]),
        ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("{}", ["{}"]),
        ("{x}{a,b}", ["{x}a", "{x}b"]),
        ("{a", ["{a"]),
        ("a,b}", ["a,b}"]),
        ("{{a,b}", ["{a", "{b"]),
        ("{1..3}", None),
        ("{a,b}" * 7, None),
        ("{" * 100, None),
    ],
)
def test_braces(text: str, words: list[str] | None) -> None:
    shape = unquoted(text)
    assert shape is not None
    found = expand_braces(shape)
    assert (sorted(found) if found is not None else None) == words


def test_a_class_without_end_is_no_glob() -> None:
    assert close_classes(f"a{CLASS}b") == "a[b"
    assert has_glob(close_classes(f"a{CLASS}b]{CLASS}"))
    assert close_classes(f"{CLASS}x]{CLASS}") == f"{CLASS}x]["


@pytest.mark.parametrize(
    ("shape", "name", "matches"),
    [
        (f"{STAR}.txt", "a.txt", True),
        (f"{STAR}.txt", ".txt", False),
        (f".{STAR}", ".git", True),
        (f"a{ANY}c", "abc", True),
        (f"a{ANY}c", "ac", False),
        (f"{CLASS}ab]c", "ac", True),
        (f"{CLASS}ab]c", ".c", False),
        (f"{UNKNOWN}", ".hidden", True),
        ("a.c", "abc", False),
        ("KEYS", "keys", True),
        (f"a{STAR}b{STAR}c", "aXbXbc", True),
        (f"a{STAR}b{STAR}c", "aXbXb", False),
        (f"{STAR}{STAR}", "", True),
        ("ab", "a", False),
        ("a", "ab", False),
        (f"{STAR}a" * 40 + "b", "a" * 80, False),
        (f"{STAR}a" * 600, "b", True),
    ],
)
def test_globs_match_names_at_least_as_bash_does(shape: str, name: str, matches: bool) -> None:
    assert glob_matches(shape, name) is matches


def test_shapes_are_shown_without_markers() -> None:
    assert shown(f"a{UNKNOWN}{STAR}{ANY}{CLASS}") == "a**?["
    assert is_plain("a*")
    assert not is_plain(UNKNOWN)
