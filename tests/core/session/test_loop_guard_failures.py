"""The failure score: what adds to it, what the model is told, what empties it."""

from __future__ import annotations

import pytest

from netclaw.core.session import sentences
from netclaw.core.session.loop_guard import GuardEnding
from netclaw.core.tool_call import OutcomeCategory
from tests.core.session.rounds import Rounds, call, failing


@pytest.mark.requirement("guard.failures")
def test_failures_of_different_tools_are_told_at_four_and_six_and_end_at_eight() -> None:
    turn = Rounds()
    notes = [turn.play(failing(f"t{number}")).note for number in range(8)]
    cause = OutcomeCategory.FAILURE
    assert notes == [
        *[""] * 3,
        sentences.failing(cause),
        "",
        sentences.failing_strong(cause),
        "",
        sentences.failing_last(cause),
    ]
    assert turn.play(call("good")).ending is GuardEnding.FAILURES


@pytest.mark.requirement("guard.failures")
def test_the_note_names_the_cause_that_weighs_most() -> None:
    turn = Rounds().play(failing("a", OutcomeCategory.TIMEOUT))
    for name in ("b", "c"):
        turn.play(failing(name, OutcomeCategory.NOT_FOUND))
    note = turn.play(failing("d", OutcomeCategory.TRANSIENT_FAILURE)).note
    assert "not found" in note


@pytest.mark.requirement("guard.failures")
def test_of_causes_that_weigh_the_same_the_latest_is_named() -> None:
    turn = Rounds()
    for name, category in (
        ("a", OutcomeCategory.TIMEOUT),
        ("b", OutcomeCategory.NOT_FOUND),
        ("c", OutcomeCategory.NOT_FOUND),
    ):
        turn.play(failing(name, category))
    assert "took too long" in turn.play(failing("d", OutcomeCategory.TIMEOUT)).note


@pytest.mark.requirement("guard.weights")
@pytest.mark.parametrize("category", [c for c in OutcomeCategory if c.value != "Success"])
def test_a_denied_call_weighs_two_and_any_other_failure_one(category: OutcomeCategory) -> None:
    weight = 2 if category is OutcomeCategory.ACCESS_DENIED else 1
    assert Rounds().play(failing("t", category)).score == weight
    note = Rounds().play(*(failing(f"t{number}", category) for number in range(4))).note
    assert note.startswith("[netclaw]")


@pytest.mark.requirement("guard.weights")
def test_four_denied_calls_are_enough() -> None:
    turn = Rounds()
    denied = OutcomeCategory.ACCESS_DENIED
    notes = [turn.play(failing(f"t{n}", denied)).note for n in range(4)]
    assert notes == [
        "",
        sentences.failing(denied),
        sentences.failing_strong(denied),
        sentences.failing_last(denied),
    ]
    assert turn.play(call("good")).ending is GuardEnding.FAILURES


@pytest.mark.requirement("guard.success-resets")
def test_one_success_in_a_batch_sets_the_score_to_zero() -> None:
    turn = Rounds().play(*(failing(f"a{number}") for number in range(7)))
    assert turn.score == 7
    assert turn.play(failing("b"), call("good"), failing("c")).note == ""
    assert turn.score == 0
    assert turn.play(failing("d")).score == 1


@pytest.mark.requirement("guard.duplicates")
def test_failing_duplicates_of_one_round_count_once_with_the_heaviest() -> None:
    turn = Rounds().play(failing("t"), failing("t", OutcomeCategory.ACCESS_DENIED), failing("t"))
    assert turn.score == 2


@pytest.mark.requirement("guard.refusal-is-nothing")
def test_a_refusal_neither_adds_to_the_failures_nor_clears_them() -> None:
    turn = Rounds().play(failing("t")).play(failing("t")).play(failing("u"))
    assert turn.score == 3
    for _ in range(5):
        assert turn.play(failing("t")).note == ""
        assert turn.score == 3
