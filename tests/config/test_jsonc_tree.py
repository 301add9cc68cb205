"""JSON with comments: what it means, where it stands, what is wrong with it."""

from __future__ import annotations

import json
import re

import jsonc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.config.jsonc_tree import Array, Json, JsoncError, Object, Scalar, parse, plain

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
remarks = st.sampled_from(["", " ", "\n", '/* a, } " */', "// b: [\n", '\t// "c\n  '])
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"{}\[\],:]+|[{}\[\],:]')


@st.composite
def commented(draw: st.DrawFn) -> tuple[str, Json]:
    """A document with remarks between any two tokens, and its value."""
    value = draw(documents)
    tokens = _TOKEN.findall(json.dumps(value, ensure_ascii=draw(st.booleans())))
    text = draw(remarks)
    for token in tokens:
        if token in ("}", "]") and draw(st.booleans()) and text.rstrip()[-1:] not in ("{", "["):
            stripped = _TOKEN.findall(text)
            if stripped and stripped[-1] not in ("{", "[", ","):
                text += ","
        text += token + draw(remarks)
    return text, value


@given(commented())
def test_a_document_means_the_same_with_remarks(case: tuple[str, Json]) -> None:
    text, value = case
    try:
        tree = parse(text)
    except JsoncError:
        # A comma was added behind a remark that looks like an opening bracket.
        assert re.search(r"[\[{]\s*(?:/\*.*?\*/|//[^\n]*\n|\s)*,", text, re.DOTALL)
        return
    assert plain(tree) == value
    assert text[tree.start : tree.end]


@given(documents)
def test_the_reading_agrees_with_an_independent_reader(value: Json) -> None:
    text = json.dumps(value, indent=2).replace("\n", " // remark\n")
    assert plain(parse(text)) == jsonc.loads(text)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    fault = None
    try:
        plain(parse(text))
    except JsoncError as error:
        fault = error
    if fault is not None:
        assert 1 <= fault.line <= text.count("\n") + 1
        assert fault.column >= 1
        assert "\n" not in fault.problem


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("", 1, 1, "a value is missing"),
        ("{", 1, 2, '"}" is missing'),
        ('{"a": 1 "b": 2}', 1, 9, "a comma"),
        ('{\n  "a": tru\n}', 2, 8, "a value is expected"),
        ('{"a" 1}', 1, 6, "a colon"),
        ("{a: 1}", 1, 2, "double quotes"),
        ('{"a": 1,, "b": 2}', 1, 9, "double quotes"),
        ("[1, 2", 1, 6, '"]" is missing'),
        ('{"a": 1} x', 1, 10, "nothing may follow"),
        ('{"a": 1, "a": 2}', 1, 10, "given twice"),
        ('"abc', 1, 1, "no end"),
        ('"a\nb"', 1, 1, "no end"),
        ('"a\tb"', 1, 3, "control character"),
        (r'"a\q"', 1, 3, "escape"),
        (r'"\ud800"', 1, 1, "Unicode"),
        ("/* open", 1, 1, "no end"),
        ("[NaN]", 1, 2, "a value is expected"),
        ("[-Infinity]", 1, 2, "a value is expected"),
        ("[" * 100, 1, 66, "nested deeper"),
        ("[" + "9" * 5000 + "]", 1, 2, "too long"),
    ],
)
@pytest.mark.requirement("config.malformed-place")
def test_faults_are_named_with_their_place(text: str, line: int, column: int, problem: str) -> None:
    with pytest.raises(JsoncError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert problem in caught.value.problem


def test_the_tree_knows_places() -> None:
    text = '{"a": [1, {"b": "c"}]}'
    tree = parse(text)
    assert isinstance(tree, Object)
    items = tree.members[0].value
    assert isinstance(items, Array)
    inner = items.items[1]
    assert isinstance(inner, Object)
    leaf = inner.members[0].value
    assert isinstance(leaf, Scalar)
    assert text[leaf.start : leaf.end] == '"c"'
    assert text[items.start : items.end] == '[1, {"b": "c"}]'
