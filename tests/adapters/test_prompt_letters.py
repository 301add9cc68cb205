"""Consent prompts that are answered by letter."""

from __future__ import annotations

import pytest

from netclaw.adapters.prompt_text import NOT_ONE, STALE
from netclaw.core.errors import NotFoundError
from tests.adapters.prompt_bench import (
    ANN,
    BOB,
    HERE,
    LETTERS_ONLY,
    Bench,
    request_of,
    running,
)
from tests.adapters.scripted import ScriptedDriver

pytestmark = pytest.mark.unit


def lettered() -> Bench:
    """A platform without buttons."""
    return Bench(ScriptedDriver(LETTERS_ONLY))


@pytest.mark.requirement("channels.letters")
async def test_a_letter_of_the_requester_answers() -> None:
    async with running(lettered()) as bench:
        await bench.ask(request_of())
        assert bench.shown().endswith("A: Once\nB: Always anywhere\nC: Deny")
        assert await bench.write("<@us> c")
        (answer,) = bench.link.answers
        assert (answer.option, answer.sender.sender_id) == ("deny", ANN)
        await bench.end(outcome="refused")
        assert bench.shown().endswith("**Refused**.")


@pytest.mark.requirement("channels.letters")
async def test_a_bad_reply_is_asked_again_and_a_message_is_a_message() -> None:
    async with running(lettered()) as bench:
        await bench.ask(request_of())
        assert await bench.write("yes", event_id="e1")
        assert bench.shown().startswith("Please answer with one letter:\nA: Once")
        assert not await bench.write("what would that delete?", event_id="e2")
        assert not await bench.write("a", BOB, event_id="e3")
        assert bench.link.answers == []


@pytest.mark.requirement("channels.letters")
async def test_a_letter_that_comes_twice_answers_once() -> None:
    async with running(lettered()) as bench:
        await bench.ask(request_of())
        assert await bench.write("a")
        assert await bench.write("a")
        assert len(bench.link.answers) == 1
        assert not await bench.write("a", event_id="e2"), "nothing is open"


@pytest.mark.requirement("channels.letters")
async def test_one_request_of_a_thread_is_asked_at_a_time() -> None:
    async with running(lettered()) as bench:
        await bench.ask(request_of(), request_of("c2", position=2, seq=6, asked_at_ms=101))
        assert len(bench.driver.posts) == 1
        await bench.write("a", event_id="e1")
        await bench.end()
        assert len(bench.driver.posts) == 2
        bench.now_ms = 1_000
        await bench.write("c", event_id="e2")
        assert [(one.call_id, one.option) for one in bench.link.answers] == [
            ("c1", "approve_once"),
            ("c2", "deny"),
        ]


@pytest.mark.requirement("channels.letters")
async def test_a_letter_from_before_the_prompt_is_no_answer_to_it() -> None:
    bench = lettered()
    bench.now_ms = 2_000
    async with running(bench):
        await bench.ask(request_of(asked_at_ms=2_001))
        assert await bench.write("a", at_ms=1_999)
        assert bench.link.answers == []
        assert await bench.write("a", event_id="e2", at_ms=2_500)
        assert len(bench.link.answers) == 1


@pytest.mark.requirement("channels.letters")
async def test_letters_count_beside_buttons_while_one_request_is_open() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of(), request_of("c2", position=2, seq=6))
        assert await bench.write("a", event_id="e1")
        assert bench.shown() == NOT_ONE
        await bench.end("c2", "withdrawn")
        assert await bench.write("a", event_id="e2")
        assert [one.call_id for one in bench.link.answers] == ["c1"]


@pytest.mark.requirement("channels.letters")
async def test_a_letter_that_comes_too_late_is_told_so() -> None:
    async with running(lettered()) as bench:
        await bench.ask(request_of())
        bench.link.answer_failures.append(NotFoundError("This request is not open."))
        assert await bench.write("a")
        assert bench.driver.shown(HERE)[-1] == STALE
