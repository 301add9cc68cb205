"""Arguments are checked as declared, and every fault is a sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.tool_call import OutcomeCategory
from netclaw.tools.faults import ToolFault
from netclaw.tools.schema import Field, Kind, parse, schema_text

FIELDS = (
    Field(name="text", kind=Kind.STRING, description="T", is_required=True, max_chars=10),
    Field(name="count", kind=Kind.INTEGER, description="C", minimum=1, maximum=9),
    Field(name="share", kind=Kind.NUMBER, description="S"),
    Field(name="flag", kind=Kind.BOOLEAN, description="F"),
    Field(name="mode", kind=Kind.STRING, description="M", choices=("a", "b")),
)


@pytest.mark.requirement("tools.arguments")
def test_good_arguments_arrive_typed() -> None:
    text = '{"text":"x","count":2.0,"share":1,"flag":true,"mode":"b"}'
    got = parse(FIELDS, text)
    assert (got.text("text"), got.whole("count"), got.number("share")) == ("x", 2, 1.0)
    assert got.flag("flag")
    assert got.text("mode") == "b"
    assert parse(FIELDS, '{"text":"x","count":null}').whole("count", 7) == 7


@pytest.mark.requirement("tools.arguments")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", ["`text` is missing."]),
        ("", ["`text` is missing."]),
        ("[]", ["not a JSON object"]),
        ("{", ["not one JSON object"]),
        ('{"text":"x","text":"y"}', ["distinct names"]),
        ('{"text":NaN}', ["not one JSON object"]),
        ('{"text":5}', ["`text` must be a string."]),
        ('{"text":"x","count":"2"}', ["`count` must be a whole number."]),
        ('{"text":"x","count":true}', ["`count` must be a whole number."]),
        ('{"text":"x","count":2.5}', ["`count` must be a whole number."]),
        ('{"text":"x","count":0}', ["at least 1"]),
        ('{"text":"x","count":10}', ["at most 9"]),
        ('{"text":"x","flag":1}', ["`flag` must be true or false."]),
        ('{"text":"x","mode":"c"}', ["one of: a, b"]),
        ('{"text":"01234567890"}', ["11 characters", "at most 10"]),
        ('{"text":"\\ud800"}', ["not valid Unicode"]),
        ('{"txt":"x","count":0}', ["no argument `txt`", "`text` is missing", "at least 1"]),
        ("[" * 100_000, ["not one JSON object"]),
        (" " * 2_000_001, ["too large"]),
    ],
)
def test_every_fault_is_named(text: str, words: list[str]) -> None:
    with pytest.raises(ToolFault) as caught:
        parse(FIELDS, text)
    assert caught.value.category is OutcomeCategory.INVALID_INPUT
    assert caught.value.sentence.endswith("The tool was not run.")
    for word in words:
        assert word in caught.value.sentence


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.requirement("tools.arguments")
@given(st.dictionaries(st.sampled_from([field.name for field in FIELDS]) | st.text(), JSON))
def test_any_object_is_accepted_as_declared_or_refused_in_words(value: dict[str, object]) -> None:
    try:
        got = parse(FIELDS, json.dumps(value))
    except ToolFault:
        return
    assert got.text("text") == value["text"]
    assert 1 <= got.whole("count", 1) <= 9


@pytest.mark.requirement("tools.arguments")
@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        parse(FIELDS, text)
    except ToolFault:
        return


@pytest.mark.requirement("tools.arguments")
def test_the_schema_says_what_the_check_does() -> None:
    schema = json.loads(schema_text(FIELDS))
    assert schema["required"] == ["text"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["count"] == {
        "type": "integer",
        "description": "C",
        "minimum": 1,
        "maximum": 9,
    }
    assert schema["properties"]["mode"]["enum"] == ["a", "b"]
    assert json.loads(schema_text(())) == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
