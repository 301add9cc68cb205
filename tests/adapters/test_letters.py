"""Answers by letter: what counts, what is asked again, and what is just a message."""

from __future__ import annotations

import pytest

from netclaw.adapters.letters import UNCLEAR, Choice, lettered, read_reply

pytestmark = pytest.mark.unit

CHOICES = (
    Choice(key="approve_once", label="Once"),
    Choice(key="approve_session", label="This chat"),
    Choice(key="approve_everywhere", label="Always anywhere"),
    Choice(key="deny", label="Deny"),
)


@pytest.mark.requirement("channels.letters")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("A", "approve_once"),
        ("a", "approve_once"),
        (" b. ", "approve_session"),
        ("**C**", "approve_everywhere"),
        ("(d)", "deny"),
        ("Option D", "deny"),
        ("deny", "deny"),
        ("This  Chat!", "approve_session"),
        ("once", "approve_once"),
    ],
)
def test_a_letter_or_the_words_of_an_option_answer(text: str, key: str) -> None:
    found = read_reply(text, CHOICES)
    assert isinstance(found, Choice)
    assert found.key == key


@pytest.mark.requirement("channels.letters")
@pytest.mark.parametrize("text", ["E", "x", "1", "yes", "OK!", "no", "A or B", "a, b", "option 7"])
def test_what_may_be_meant_as_an_answer_is_asked_again(text: str) -> None:
    assert read_reply(text, CHOICES) is UNCLEAR


@pytest.mark.requirement("channels.letters")
@pytest.mark.parametrize(
    "text", ["", "a better idea: use ls", "what does it do?", "B is fine I guess", "stop"]
)
def test_everything_else_is_a_message(text: str) -> None:
    assert read_reply(text, CHOICES) is None


@pytest.mark.requirement("channels.letters")
def test_options_are_listed_with_their_letters() -> None:
    assert lettered(CHOICES) == ("A: Once", "B: This chat", "C: Always anywhere", "D: Deny")
