"""The loop guard's rule alone: histories of rounds, and what each next one comes to."""

from __future__ import annotations

import pytest

from netclaw.core.session import sentences
from netclaw.core.session.loop_guard import ONCE_SEEN_MAX, GuardEnding
from netclaw.core.session.loop_guard_state import GuardState
from netclaw.core.tool_call import OutcomeCategory
from tests.core.session.rounds import Asked, Rounds, call, failing, poll


def suspected(*asked: Asked) -> Rounds:
    """A turn in which these calls already had two equal rounds."""
    return Rounds().play(*asked).play(*asked)


# Repeats


@pytest.mark.requirement("guard.two-equal-rounds")
def test_two_equal_rounds_run_and_the_next_identical_call_does_not() -> None:
    turn = Rounds()
    assert turn.play(call("ls")).ran == ("ls",)
    assert turn.play(call("ls")).ran == ("ls",)
    assert turn.play(call("ls")).refused == ("ls",)
    assert turn.ran == ()


@pytest.mark.requirement("guard.ladder")
def test_four_nudges_a_stronger_one_and_then_the_end() -> None:
    turn = suspected(call("ls"))
    said = [turn.play(call("ls")).corrections for _ in range(5)]
    assert said == [(sentences.REPEATED,)] * 4 + [(sentences.REPEATED_STRONG,)]
    assert turn.ending is None
    assert turn.play(call("ls"), call("new")).ending is GuardEnding.REPEATS
    assert turn.ran == ()


@pytest.mark.requirement("guard.unrelated-calls")
def test_other_calls_in_between_clear_neither_evidence_nor_refusals() -> None:
    turn = Rounds()
    fresh = iter(range(100))
    for _ in range(2):
        turn.play(call("ls")).play(call(f"other{next(fresh)}"))
    for _ in range(5):
        assert turn.play(call("ls")).refused == ("ls",)
        assert turn.play(call(f"other{next(fresh)}")).refused == ()
    assert turn.play(call("ls")).ending is GuardEnding.REPEATS


@pytest.mark.requirement("guard.ladder")
def test_each_identity_has_a_ladder_of_its_own() -> None:
    turn = suspected(call("ls"))
    for number in range(4):
        turn.play(call("ls"))
        turn.play(call("cat")) if number < 2 else turn.play(call(f"new{number}"))
    assert turn.play(call("cat")).corrections == (sentences.REPEATED,)
    assert turn.play(call("ls"), call("cat")).corrections == (
        sentences.REPEATED_STRONG,
        sentences.REPEATED,
    )


def test_a_refused_call_does_not_keep_the_others_of_its_batch_from_running() -> None:
    turn = suspected(call("ls"))
    assert turn.play(call("cat"), call("ls")).ran == ("cat",)
    assert turn.refused == ("ls",)


@pytest.mark.requirement("guard.outcome")
@pytest.mark.parametrize(
    "other",
    [call("ls", "changed"), call("ls", "done "), failing("ls", text="done")],
)
def test_a_different_outcome_is_no_equal_round(other: Asked) -> None:
    turn = Rounds().play(call("ls")).play(other)
    assert turn.play(call("ls")).ran == ("ls",)


@pytest.mark.requirement("guard.outcome")
def test_a_different_outcome_clears_that_identity_alone() -> None:
    turn = Rounds().play(call("ls"), call("cat")).play(call("ls", "changed"), call("cat"))
    assert turn.play(call("ls"), call("cat")).refused == ("cat",)


@pytest.mark.requirement("guard.outcome")
def test_a_shortened_result_may_name_its_own_call_and_is_still_the_same() -> None:
    turn = suspected(call("ls", 'Read on: call_id "CALL_ID", start 100.'))
    assert turn.play(call("ls")).refused == ("ls",)


@pytest.mark.requirement("guard.identity")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":[1,{"d":2,"c":3}]}', '{ "b": [1, {"c": 3, "d": 2}], "a": 1 }'),
        ('{"a":"\\u00fc"}', '{"a":"ü"}'),
        ("", "{}"),
    ],
)
def test_another_spelling_is_the_same_call(one: str, other: str) -> None:
    turn = Rounds().play(call("t", arguments=one)).play(call("t", arguments=other))
    assert turn.play(call("t", arguments=one)).refused == ("t",)


@pytest.mark.requirement("guard.identity")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1}', '{"a":2}'),
        ('{"a":1}', '{"a":"1"}'),
        ('{"a":1}', '{"a":1.0}'),
        ('{"a":1}', '{"a":true}'),
        ('{"a":2}', '{"a":1,"a":2}'),
        ('{"a":2}', '{"a":2,"_rationale":"why"}'),
        ('{"a":2}', '{"a":2'),
        ("{}", "[" * 100_000),
        ("{}", '"' + "x" * 200_000 + '"'),
    ],
)
def test_other_arguments_are_another_call(one: str, other: str) -> None:
    turn = suspected(call("t", arguments=other))
    assert turn.play(call("t", arguments=one)).ran == ("t",)
    assert turn.play(call("t", arguments=other)).refused == ("t",)


@pytest.mark.requirement("guard.identity")
def test_another_tool_is_another_call() -> None:
    assert suspected(call("ls", arguments='{"a":1}')).play(call("cat", arguments='{"a":1}')).ran


@pytest.mark.requirement("guard.duplicates")
def test_duplicates_of_one_round_are_one_observation() -> None:
    turn = Rounds().play(call("ls"), call("ls"), call("ls"))
    assert turn.play(call("ls")).ran == ("ls",)
    assert turn.play(call("ls"), call("ls")).refused == ("ls", "ls")
    assert turn.corrections == (sentences.REPEATED, sentences.REPEATED)


@pytest.mark.requirement("guard.duplicates")
def test_refused_duplicates_are_one_refusal() -> None:
    turn = suspected(call("ls"))
    for _ in range(4):
        assert turn.play(*[call("ls")] * 6).corrections == (sentences.REPEATED,) * 6
    assert turn.play(call("ls")).corrections == (sentences.REPEATED_STRONG,)


@pytest.mark.requirement("guard.duplicates")
def test_differing_duplicates_are_one_combined_outcome() -> None:
    turn = Rounds().play(call("ls", "one"), call("ls", "two"))
    assert turn.play(call("ls", "one")).ran == ("ls",)
    turn = Rounds().play(call("ls", "one"), call("ls", "two"))
    turn.play(call("ls", "two"), call("ls", "one"), call("ls", "one"))
    assert turn.play(call("ls")).refused == ("ls",)


@pytest.mark.requirement("guard.refusal-is-nothing")
def test_a_refusal_does_not_count_as_an_outcome() -> None:
    turn = suspected(call("ls"))
    turn.play(call("ls", "would have changed"))
    assert turn.play(call("ls")).refused == ("ls",)


@pytest.mark.requirement("guard.refusal-is-nothing")
@pytest.mark.parametrize("category", [OutcomeCategory.INTERRUPTED, OutcomeCategory.CANCELLED])
def test_what_is_not_known_to_have_completed_is_no_outcome(category: OutcomeCategory) -> None:
    turn = Rounds().play(call("ls")).play(failing("ls", category))
    assert turn.play(call("ls")).ran == ("ls",)
    assert turn.play(call("ls")).refused == ("ls",)


@pytest.mark.requirement("guard.two-equal-rounds")
def test_a_call_that_keeps_failing_alike_is_refused_too() -> None:
    assert suspected(failing("ls")).play(failing("ls")).refused == ("ls",)


# Cycles


@pytest.mark.requirement("guard.cycles")
@pytest.mark.parametrize("period", [1, 2, 3])
def test_a_cycle_of_batches_is_refused_and_ends_at_the_sixth_as_one(period: int) -> None:
    turn = Rounds()
    names = [f"t{number}" for number in range(period)]
    for name in names * 2:
        assert turn.play(call(name)).ran == (name,)
    asked = (names * 6)[:5]
    for name in asked:
        assert turn.play(call(name)).refused == (name,)
    assert turn.corrections == (sentences.REPEATED_STRONG,)
    assert turn.play(call((names * 6)[5])).ending is GuardEnding.REPEATS


@pytest.mark.requirement("guard.cycles")
@pytest.mark.parametrize("texts", [("on", "off"), ("red", "green", "blue")])
def test_outcomes_that_change_in_a_cycle_are_caught(texts: tuple[str, ...]) -> None:
    turn = Rounds()
    for text in texts * 2:
        assert turn.play(call("light", text)).ran == ("light",)
    assert turn.play(call("light", texts[0])).refused == ("light",)


@pytest.mark.requirement("guard.cycles")
def test_batches_whose_outcomes_always_change_are_no_cycle() -> None:
    turn = Rounds()
    for number in range(50):
        assert turn.play(call("date", f"{number}"), call("load", f"{number}")).refused == ()


@pytest.mark.requirement("guard.cycles")
def test_a_call_of_a_cycle_runs_in_another_batch() -> None:
    turn = Rounds()
    for text in ("on", "off") * 2:
        turn.play(call("light", text))
    assert turn.play(call("light", "on"), call("new")).ran == ("light", "new")
    assert turn.play(call("light", "on")).refused == ("light",)


@pytest.mark.requirement("guard.cycles")
def test_the_order_within_a_batch_does_not_matter() -> None:
    turn = Rounds()
    turn.play(call("a", "1"), call("b", "1")).play(call("b", "2"), call("a", "2"))
    turn.play(call("b", "1"), call("a", "1")).play(call("a", "2"), call("b", "2"))
    assert turn.play(call("b"), call("a")).refused == ("b", "a")


def test_a_cycle_of_four_is_left_to_the_calls_themselves() -> None:
    turn = Rounds()
    for text in ("1", "2", "3", "4") * 2:
        assert turn.play(call("light", text)).ran == ("light",)
    assert turn.play(call("light", "1")).ran == ("light",)


# Polls


@pytest.mark.requirement("guard.poll")
def test_asking_after_a_running_job_may_go_on_for_ever() -> None:
    turn = Rounds()
    for _ in range(30):
        assert turn.play(poll("Running")).ran
    assert turn.play(poll("Exited 0", is_still_running=False)).ran


@pytest.mark.requirement("guard.poll")
def test_an_ended_job_is_asked_after_twice() -> None:
    turn = Rounds().play(poll("Running")).play(poll("Running"))
    for _ in range(2):
        assert turn.play(poll("Exited 0", is_still_running=False)).ran
    assert turn.play(poll("Exited 0", is_still_running=False)).refused


@pytest.mark.requirement("guard.poll")
def test_a_poll_between_two_equal_answers_makes_them_no_repetition() -> None:
    turn = Rounds().play(poll("No such job", is_still_running=False)).play(poll("Pending"))
    turn.play(poll("No such job", is_still_running=False))
    assert turn.play(poll("No such job", is_still_running=False)).ran


@pytest.mark.requirement("guard.poll")
@pytest.mark.parametrize(
    "again",
    [
        poll("Running", arguments='{"cancel": true, "job_id":"j1"}'),
        Asked("shell_execute", text="Running", is_still_running=True),
    ],
)
def test_cancelling_or_any_other_call_is_no_poll(again: Asked) -> None:
    assert suspected(again).play(again).refused == (again.name,)


@pytest.mark.requirement("guard.poll")
def test_a_poll_beside_it_does_not_excuse_a_repeated_call() -> None:
    turn = suspected(call("ls"), poll("Running"))
    assert turn.play(poll("Running"), call("ls")).refused == ("ls",)
    assert turn.ran == ("check_background_job",)


@pytest.mark.requirement("guard.poll")
def test_a_poll_within_a_cycle_still_runs() -> None:
    turn = Rounds()
    for text in ("on", "off") * 2:
        turn.play(call("light", text), poll("Running"))
    assert turn.play(call("light", "on"), poll("Running")).refused == ("light",)
    assert turn.ran == ("check_background_job",)


# What is remembered


@pytest.mark.requirement("guard.bounded")
def test_suspects_are_pinned_and_the_rest_is_bounded() -> None:
    turn = suspected(call("pinned")).play(call("old"))
    for number in range(ONCE_SEEN_MAX):
        turn.play(call(f"t{number}"))
    assert len(turn.guard.sightings) == ONCE_SEEN_MAX + 1
    assert turn.play(call("old")).ran == ("old",)
    assert turn.play(call("pinned")).refused == ("pinned",)
    newest = f"t{ONCE_SEEN_MAX - 1}"
    assert turn.play(call(newest)).play(call(newest)).refused == (newest,)


@pytest.mark.requirement("guard.bounded")
def test_an_identity_seen_again_is_not_the_oldest() -> None:
    turn = Rounds().play(call("kept", "one"))
    for number in range(ONCE_SEEN_MAX - 1):
        turn.play(call(f"t{number}"))
    turn.play(call("kept", "two")).play(call("one more"))
    assert turn.play(call("kept", "two")).play(call("kept")).refused == ("kept",)


def test_a_turn_without_tools_has_no_evidence() -> None:
    assert Rounds().guard == GuardState()


@pytest.mark.requirement("guard.no-round-limit")
def test_new_work_is_never_stopped() -> None:
    turn = Rounds()
    for number in range(300):
        assert turn.play(call("write", arguments=f"[{number}]")).ran == ("write",)
