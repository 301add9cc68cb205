"""The loop guard in a session: what is journaled, shown and done; what resets."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Authority
from netclaw.core.messages import NoteMessage, ToolMessage, UserMessage
from netclaw.core.session import sentences
from netclaw.core.session.commands import ProposedCall
from netclaw.core.session.effects import CallModel, Decision, Log, RunTool
from netclaw.core.session.events import (
    Compacted,
    DrainStopped,
    InputJoined,
    Resumed,
    RoundRecorded,
    ToolResultRecorded,
    TurnOutcome,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.evolve import replay
from netclaw.core.session.loop_guard_state import GuardState
from netclaw.core.session.outputs import (
    ErrorOutput,
    OutputFilter,
    TextOutput,
    ToolCallOutput,
    ToolResultOutput,
    TurnCompletedOutput,
)
from netclaw.core.session.phase import Phase
from netclaw.core.session.rulings import ALLOWED
from netclaw.core.session.state import SessionState
from netclaw.core.settings import SessionSettings, SessionTuning
from netclaw.core.tool_call import OutcomeCategory
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, BOB, REMINDER
from netclaw.testing.story import Story


def proposed(*names: str) -> tuple[ProposedCall, ...]:
    return tuple(
        ProposedCall(provider_call_id=f"p{number}", name=name, arguments="{}", ruling=ALLOWED)
        for number, name in enumerate(names)
    )


def asked(*, by: Authority = ALICE, interest: OutputFilter = OutputFilter(0)) -> Story:
    story = Story(interest=interest)
    story.start()
    story.admit(by=by)
    return story


def play(
    story: Story,
    *names: str,
    text: str = "",
    result: str = "done",
    category: OutcomeCategory = OutcomeCategory.SUCCESS,
) -> Decision:
    """One response and its batch; the decision about the response."""
    decision = story.when(story.answered(text, calls=proposed(*names)))
    while story.runtime.running:
        story.when(story.tool_ended(text=result, category=category))
    return decision


def repeat(story: Story, times: int, *names: str) -> Story:
    for _ in range(times):
        play(story, *names)
    return story


def launches(decision: Decision) -> list[str]:
    return [item.call.name for item in decision.effects if isinstance(item, RunTool)]


def refusals(decision: Decision) -> list[str]:
    return [e.result.text for e in decision.events if isinstance(e, ToolResultRecorded)]


def guard_of(story: Story) -> GuardState:
    assert story.state.turn is not None
    return story.state.turn.guard


# Refusals


@pytest.mark.requirement("guard.two-equal-rounds")
def test_a_refused_call_is_answered_in_the_same_append_and_the_model_goes_on() -> None:
    story = repeat(asked(), 2, "ls")
    decision = play(story, "ls")
    (call,) = story.state.turn.batch if story.state.turn else ()
    assert decision.events == (like(RoundRecorded, round=2), like(ToolResultRecorded))
    assert call.result is not None
    assert not call.is_launched
    assert call.result.receipt.category is OutcomeCategory.RECOVERABLE_CORRECTION
    assert call.result.receipt.remediation == "BreakToolCycle"
    assert decision.outputs[-2:] == (
        like(ToolCallOutput, name="ls"),
        like(ToolResultOutput, text=sentences.REPEATED),
    )
    assert decision.effects == (like(CallModel, round=3),)
    assert story.messages[-1] == like(ToolMessage, text=sentences.REPEATED)


@pytest.mark.requirement("guard.duplicates")
@pytest.mark.requirement("upstream.guard-per-turn")
def test_every_duplicate_gets_its_correction_and_the_rest_runs() -> None:
    story = repeat(asked(), 2, "ls")
    decision = story.when(story.answered(calls=proposed("ls", "cat", "ls")))
    assert refusals(decision) == [sentences.REPEATED] * 2
    assert launches(decision) == ["cat"]
    story.finish_tools()
    assert [item.text for item in story.messages[-3:]] == [
        sentences.REPEATED,
        "done",
        sentences.REPEATED,
    ]


@pytest.mark.requirement("guard.ladder")
@pytest.mark.requirement("guard.quiet-end")
@pytest.mark.requirement("upstream.guard-per-turn")
def test_the_sixth_refusal_ends_the_turn_with_the_models_text() -> None:
    story = repeat(asked(), 2, "ls")
    texts = [refusals(play(story, "ls")) for _ in range(5)]
    assert texts == [[sentences.REPEATED]] * 4 + [[sentences.REPEATED_STRONG]]
    decision = play(story, "ls", "new", text="Here is what I have.")
    assert decision.events == (
        like(TurnRecorded, outcome=TurnOutcome.GUARD_ENDED, note=sentences.NOTE_REPEATED),
    )
    assert like(TextOutput, text="Here is what I have.") in decision.outputs
    assert like(TurnCompletedOutput, outcome=TurnOutcome.GUARD_ENDED) in decision.outputs
    assert not [item for item in decision.outputs if isinstance(item, ErrorOutput)]
    assert not [item for item in decision.effects if isinstance(item, CallModel | RunTool)]
    assert like(Log, text="turn ended by the loop guard: repeats") in decision.effects
    assert story.runtime.phase is Phase.READY
    assert story.state.turn is None
    assert [item.text for item in story.messages[-2:]] == [
        "Here is what I have.",
        sentences.NOTE_REPEATED,
    ]


@pytest.mark.requirement("guard.quiet-end")
def test_an_ending_without_text_says_nothing() -> None:
    story = repeat(asked(), 7, "ls")
    decision = play(story, "ls", text=" \n")
    assert decision.events == (like(TurnRecorded, outcome=TurnOutcome.GUARD_ENDED),)
    assert not [item for item in decision.outputs if isinstance(item, TextOutput)]
    assert story.messages[-1] == like(NoteMessage, text=sentences.NOTE_REPEATED)


@pytest.mark.requirement("guard.two-equal-rounds")
def test_a_faulty_call_that_is_repeated_is_refused_like_any_other() -> None:
    story = asked()
    faulty = (
        ProposedCall(
            provider_call_id="p", name="ls", arguments="{", ruling=ALLOWED, fault="No JSON."
        ),
    )
    texts = [refusals(story.when(story.answered(calls=faulty))) for _ in range(3)]
    assert texts == [[sentences.bad_arguments("No JSON.")]] * 2 + [[sentences.REPEATED]]


# Failures


@pytest.mark.requirement("guard.failures")
def test_the_word_about_failures_follows_the_results_and_stays_in_the_history() -> None:
    story = asked()
    missing = OutcomeCategory.NOT_FOUND
    play(story, "a", "b", "c", "d", category=missing)
    note = like(NoteMessage, text=sentences.failing(missing))
    assert story.messages[-2:] == (like(ToolMessage), note)
    play(story, "e")
    assert note in story.messages


@pytest.mark.requirement("guard.failures")
@pytest.mark.requirement("guard.quiet-end")
def test_at_eight_an_answer_is_taken_and_a_call_ends_the_turn() -> None:
    story = asked()
    for batch in ("abc", "de", "fgh"):
        play(story, *batch, category=OutcomeCategory.TIMEOUT)
    assert story.messages[-1] == like(
        NoteMessage, text=sentences.failing_last(OutcomeCategory.TIMEOUT)
    )
    answered = story.ask(story.answered("I could not."))
    assert answered.events == (like(TurnRecorded, outcome=TurnOutcome.COMPLETED),)
    decision = play(story, "new", text="One more try.")
    assert decision.events == (
        like(TurnRecorded, outcome=TurnOutcome.GUARD_ENDED, note=sentences.NOTE_FAILING),
    )
    assert launches(decision) == []


# What clears the evidence


@pytest.mark.requirement("guard.reset")
@pytest.mark.requirement("upstream.guard-per-turn")
def test_a_new_turn_starts_without_evidence() -> None:
    story = repeat(asked(), 2, "ls")
    story.answer()
    story.admit(by=ALICE)
    assert launches(play(story, "ls")) == ["ls"]


@pytest.mark.requirement("guard.reset")
@pytest.mark.requirement("upstream.guard-per-turn")
def test_a_person_who_joins_starts_the_counts_anew() -> None:
    story = repeat(asked(), 1, "ls")
    story.when(story.answered(calls=proposed("ls")))
    story.admit("go on", by=ALICE)
    joined = story.when(story.tool_ended())
    assert like(InputJoined) in joined.events
    assert launches(play(story, "ls")) == ["ls"]
    assert launches(play(story, "ls")) == ["ls"]
    assert refusals(play(story, "ls")) == [sentences.REPEATED]


@pytest.mark.requirement("guard.reset")
@pytest.mark.parametrize("by", [BOB, REMINDER])
def test_an_input_that_waits_for_its_own_turn_clears_nothing(by: Authority) -> None:
    story = repeat(asked(), 2, "ls")
    story.admit("something else", by=by)
    assert refusals(play(story, "ls")) == [sentences.REPEATED]


@pytest.mark.requirement("guard.reset")
def test_only_a_person_clears_the_evidence_even_if_a_journal_says_otherwise() -> None:
    story = repeat(asked(), 2, "ls")
    assert story.state.turn is not None
    automated = story.input("tick", by=REMINDER)
    turn_id = story.state.turn.turn_id
    story.given(automated, InputJoined(turn_id=turn_id, input_ids=(automated.input_id,)))
    assert refusals(play(story, "ls")) == [sentences.REPEATED]


@pytest.mark.requirement("guard.survives")
def test_the_evidence_survives_a_crash() -> None:
    story = repeat(asked(), 3, "ls")
    story.crash().start()
    assert story.last.events == (like(Resumed),)
    assert refusals(play(story, "ls")) == [sentences.REPEATED]
    assert guard_of(story).sightings[0].refusals == 2


@pytest.mark.requirement("guard.survives")
def test_the_evidence_survives_a_drain_with_the_refused_calls_of_its_batch() -> None:
    story = repeat(asked(), 2, "ls")
    story.drain()
    decision = story.when(story.answered(calls=proposed("ls", "cat")))
    assert decision.events == (
        like(RoundRecorded),
        like(ToolResultRecorded),
        like(DrainStopped, point="before-batch"),
    )
    story.crash().start()
    assert launches(story.judge()) == ["cat"]
    story.finish_tools()
    assert guard_of(story).sightings[0].refusals == 1
    assert refusals(play(story, "ls")) == [sentences.REPEATED]


@pytest.mark.requirement("guard.survives")
def test_the_evidence_survives_a_compaction() -> None:
    story = repeat(asked(), 2, "ls")
    before = guard_of(story)
    story.given(
        Compacted(
            kept_from_seq=1,
            notes="n",
            tokens_before=9,
            tokens_after=1,
            trigger="t",
            kept_messages=2,
        )
    )
    assert guard_of(story) == before
    assert refusals(play(story, "ls")) == [sentences.REPEATED]


@pytest.mark.requirement("guard.survives")
def test_the_evidence_is_what_the_journal_says() -> None:
    story = asked()
    for names in (("ls",), ("ls", "cat"), ("ls",), ("cat", "new")):
        play(story, *names)
    assert replay(SessionState(), story.journal) == story.state
    assert guard_of(story) != GuardState()


# Among the other rules


def test_a_drain_takes_a_turn_that_the_guard_ends_as_ended() -> None:
    story = repeat(asked(), 7, "ls")
    story.drain()
    decision = play(story, "ls")
    assert like(TurnRecorded, outcome=TurnOutcome.GUARD_ENDED) in decision.events
    assert story.runtime.phase is Phase.PASSIVATING


def test_the_person_an_automated_turn_must_make_way_for_is_next_when_the_guard_ends_it() -> None:
    story = repeat(asked(by=REMINDER), 7, "ls")
    story.admit("another tick", by=REMINDER)
    person = story.input("a person", by=ALICE)
    story.given(person)
    decision = play(story, "ls")
    assert decision.events == (
        like(TurnRecorded, outcome=TurnOutcome.GUARD_ENDED),
        like(TurnStarted, input_ids=(person.input_id,)),
    )


def test_input_of_the_same_person_gets_a_turn_of_its_own_when_the_guard_ends_theirs() -> None:
    story = repeat(asked(), 7, "ls")
    story.admit("what about this?", by=ALICE)
    decision = play(story, "ls")
    assert decision.events == (
        like(TurnRecorded, outcome=TurnOutcome.GUARD_ENDED, input_ids=("i1",)),
        like(TurnStarted, input_ids=("i2",)),
    )
    assert story.messages[-1] == like(UserMessage, text="what about this?")


@pytest.mark.requirement("guard.no-round-limit")
def test_the_legacy_limit_of_tool_rounds_is_not_enforced() -> None:
    story = Story(settings=SessionSettings(tuning=SessionTuning(max_tool_iterations_per_turn=2)))
    story.start()
    story.admit()
    for number in range(70):
        assert launches(play(story, f"new{number}")) == [f"new{number}"]
    assert story.answer().events == (like(TurnRecorded, outcome=TurnOutcome.COMPLETED),)
