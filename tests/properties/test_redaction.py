"""Redaction over any text: whole or in pieces, once or twice, nothing known is left."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.redaction import Redactor, StreamRedactor, redact_arguments, redact_shapes
from tests.core.test_redaction import TOKENS

WORDS = st.sampled_from([*TOKENS.values(), "a", " ", "\n", '"', "sk-", "eyJ", "key=", "\\n", "."])
TEXT = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=30).map("".join))
SECRETS = st.lists(
    st.text(alphabet="abc-_:/ é\\\"'{}", min_size=6, max_size=40).filter(
        lambda text: text not in "[redacted]"
    ),
    max_size=4,
)


@pytest.mark.requirement("core.redact-shapes")
@given(st.lists(WORDS, max_size=30).map(" ".join))
def test_of_tokens_that_stand_apart_the_second_pass_finds_none(text: str) -> None:
    once = redact_shapes(text)
    assert redact_shapes(once) == once


@pytest.mark.requirement("core.redact-values")
@given(SECRETS, TEXT, st.data())
def test_no_known_value_survives(secrets: list[str], text: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(min_value=0, max_value=len(text)))
    text = text[:place] + "".join(secrets) + text[place:]
    redacted = Redactor(secrets).redact_known(text)
    for secret in secrets:
        assert secret not in redacted.replace("[redacted]", "\0")


@pytest.mark.requirement("core.redact-chunks")
@given(SECRETS, st.lists(TEXT, max_size=20), st.integers(min_value=1, max_value=2000))
def test_in_pieces_nothing_known_comes_out(secrets: list[str], texts: list[str], size: int) -> None:
    redactor = Redactor(secrets)
    text = "".join(f"{part}\n{' '.join(secrets)}\n" for part in texts)
    stream = StreamRedactor(redactor)
    parts = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    out = "".join(parts) + stream.finish()
    for secret in secrets:
        assert secret not in out.replace("[redacted]", "\0")
    whole = redactor.redact(text)
    for token in TOKENS.values():
        assert token not in out or token in whole


@pytest.mark.requirement("core.log-arguments")
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=400),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    )
)
def test_logged_arguments_stay_json_and_short(value: object) -> None:
    logged = json.loads(redact_arguments(json.dumps(value)))
    assert longest(logged) <= 300


def longest(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return max(map(longest, value), default=0)
    if isinstance(value, dict):
        return max(map(longest, value.values()), default=0)
    return 0
