"""A reply in parts: within the limit, cut where a reader would, with nothing lost."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from netclaw.adapters.splitting import MIN_LIMIT, split, units

pytestmark = pytest.mark.unit


def words(count: int) -> str:
    """So many different words."""
    return " ".join(f"word{n}" for n in range(count))


def visible(text: str) -> str:
    """A text without the marks of fences and without white space."""
    return re.sub(r"[\s`~]", "", text)


def is_kept(text: str, parts: tuple[str, ...]) -> bool:
    """Whether a text is there in order, and beside it at most languages that were repeated."""
    found = visible("".join(parts))
    rest = iter(found)
    return all(char in rest for char in visible(text)) and (
        found == visible(text) or bool(re.search("[`~]{3}", text))
    )


@pytest.mark.requirement("channels.split-limit")
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ()),
        (" \n ", ()),
        ("short", ("short",)),
        ("x" * 100, ("x" * 100,)),
        ("x" * 101, ("x" * 100, "x")),
        ("a" * 60 + "\n\n" + "b" * 60, ("a" * 60, "b" * 60)),
        ("a" * 60 + "\n" + "b" * 60, ("a" * 60, "b" * 60)),
        ("a" * 60 + " " + "b" * 60, ("a" * 60, "b" * 60)),
        ("a" * 60 + "\n\n" + "b" * 20 + "\n" + "c" * 60, ("a" * 60, "b" * 20 + "\n" + "c" * 60)),
        ("a" * 70 + "\n    " + "b" * 60, ("a" * 70, "    " + "b" * 60)),
        ("a" * 100 + "\n\n" + "b", ("a" * 100, "b")),
        ("a" * 20 + "\n\n" + "b" * 200, ("a" * 20, "b" * 100, "b" * 100)),
    ],
)
def test_cuts_lie_where_a_reader_would_put_them(text: str, parts: tuple[str, ...]) -> None:
    assert split(text, 100) == parts


@pytest.mark.requirement("channels.split-fence")
def test_code_is_closed_and_opened_again_with_its_language() -> None:
    code = "\n".join(f"line {n}" for n in range(30))
    parts = split(f"before\n\n```python\n{code}\n```\nafter", 120)
    assert len(parts) > 2
    assert parts[0].startswith("before\n\n```python\nline 0\n")
    for part in parts[:-1]:
        assert part.endswith("\n```")
    for part in parts[1:]:
        assert part.startswith("```python\nline")
    assert parts[-1].endswith("\n```\nafter")


@pytest.mark.requirement("channels.split-fence")
def test_code_that_fits_into_one_part_is_not_cut() -> None:
    code = "```sh\n" + "\n".join(f"echo {n}" for n in range(10)) + "\n```"
    assert split(f"{words(10)}\n{code}", 100) == (words(10), code)


@pytest.mark.requirement("channels.split-fence")
def test_a_cut_before_the_closing_line_leaves_no_empty_code_behind() -> None:
    code = "```\n" + "x" * 50 + "\n" + "y" * 40 + "\n```\n"
    parts = split(code + "z" * 90, 100)
    assert parts == ("```\n" + "x" * 50 + "\n" + "y" * 40 + "\n```", "z" * 90)


@pytest.mark.requirement("channels.split-fence")
def test_a_line_of_code_that_is_too_long_is_cut_within() -> None:
    parts = split("~~~\n" + "x" * 250 + "\n~~~", 100)
    assert [part.count("x") for part in parts] == [92, 92, 66]
    assert all(part.startswith("~~~\n") and part.endswith("\n~~~") for part in parts)


@pytest.mark.requirement("channels.split-characters")
@pytest.mark.parametrize(
    "character",
    ["e\u0301", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", "\U0001f468\u200d\U0001f469"],
)
def test_no_visible_character_is_divided(character: str) -> None:
    for before in range(4):
        parts = split("x" * before + character * 60, 100)
        assert len(parts) > 1
        for part in parts:
            assert part.replace(character, "").strip("x") == ""


@pytest.mark.requirement("channels.split-limit")
def test_a_limit_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="99"):
        split("x", MIN_LIMIT - 1)


PIECES = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="ab \n", max_size=200),
    st.sampled_from(["```", "```python\n", "\n```\n", "~~~~ js x\n", "\n~~~~\n", "\n\n", "   ```"]),
    st.integers(min_value=0, max_value=60).map(words),
    st.sampled_from(["\U0001f600" * 70, "e\u0301" * 80, "x" * 300, "`" * 20]),
)


@pytest.mark.requirement("channels.split-limit")
@settings(max_examples=150, deadline=None)
@given(pieces=st.lists(PIECES, max_size=8), limit=st.integers(MIN_LIMIT, 400))
@example(pieces=["```" + "i" * 64 + "\n", "x" * 300], limit=100)
@example(pieces=["x" * 45 + "\n```" + "i" * 64 + "\n", "y" * 300], limit=100)
@example(pieces=["```\n", "x\n" * 50, "```" + " " * 200, "\ny"], limit=100)
def test_nothing_is_lost_and_every_part_fits(pieces: list[str], limit: int) -> None:
    text = "".join(pieces)
    parts = split(text, limit)
    assert parts == split(text, limit)
    assert all(units(part) <= limit for part in parts)
    assert all(part.strip() for part in parts)
    assert is_kept(text, parts)


@pytest.mark.requirement("channels.split-fence")
@settings(max_examples=80, deadline=None)
@given(
    blocks=st.lists(
        st.tuples(st.lists(st.text(alphabet="abc =();", max_size=70), max_size=12), st.booleans()),
        max_size=6,
    ),
    limit=st.integers(MIN_LIMIT, 300),
)
def test_every_part_closes_the_code_that_it_opens(
    blocks: list[tuple[list[str], bool]], limit: int
) -> None:
    made = []
    for lines, is_code in blocks:
        body = "\n".join(lines)
        made.append(f"```py\n{body}\n```" if is_code else body)
    for part in split("\n".join(made), limit):
        marks = [line for line in part.splitlines() if line.startswith("```")]
        assert marks == ["```py", "```"] * (len(marks) // 2)


@pytest.mark.requirement("channels.split-characters")
@settings(max_examples=60, deadline=None)
@given(text=st.text(alphabet="e\u0301\u0308\U0001f600x ", max_size=600))
def test_marks_stay_with_their_letters(text: str) -> None:
    for part in split(text, 100)[1:]:
        is_mark = unicodedata.category(part[0]) == "Mn"
        assert not is_mark or re.search(r"(^|\s)[\u0301\u0308]|[\u0301\u0308]{30}", text)
