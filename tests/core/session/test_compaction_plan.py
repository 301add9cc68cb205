"""What a compaction keeps, in the seed's order and with its numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.context.token_estimate import TokenMeter, characters_of
from netclaw.core.messages import AssistantMessage, NoteKind, NoteMessage, ToolMessage, UserMessage
from netclaw.core.session import sentences
from netclaw.core.session.compaction import TooLarge, is_due, make_plan
from netclaw.core.session.compaction_state import CompactionPlan, Trigger
from netclaw.core.session.state import SessionState
from netclaw.core.settings import SessionSettings, SessionTuning
from tests.core.session.histories import WINDOW, Talk, applied, settings_of


def planned(
    state: SessionState,
    trigger: Trigger = Trigger.THRESHOLD,
    settings: SessionSettings | None = None,
) -> CompactionPlan:
    plan = make_plan(state, settings or settings_of(), trigger)
    assert isinstance(plan, CompactionPlan), plan
    return plan


def refused(state: SessionState, trigger: Trigger = Trigger.THRESHOLD) -> str:
    plan = make_plan(state, settings_of(), trigger)
    assert isinstance(plan, TooLarge), plan
    return plan.sentence


@pytest.mark.requirement("compaction.threshold")
def test_it_is_due_above_three_quarters_of_the_window() -> None:
    assert not is_due(SessionState(last_input_tokens=24_576), settings_of(window=32_768))
    assert is_due(SessionState(last_input_tokens=24_577), settings_of(window=32_768))
    assert not is_due(SessionState(last_input_tokens=10**6), SessionSettings())


@pytest.mark.requirement("compaction.results")
def test_old_results_become_placeholders_and_the_newest_three_stay() -> None:
    talk = Talk().user().batch(2000, 2000).batch(2000).batch(2000, 2000).answer()
    state = talk.state(reported=3100)
    plan = planned(state)
    assert plan.cleared_call_ids == ("c1", "c2")
    assert plan.kept_messages == len(state.history)
    assert plan.dropped == ()
    assert plan.notes_characters == 0
    texts = [item.text for item in applied(state, plan).history if isinstance(item, ToolMessage)]
    assert texts == [sentences.RESULT_CLEARED] * 2 + ["r" * 2000] * 3
    assert (plan.tokens_before, plan.tokens_after < 3000) == (3100, True)


@pytest.mark.requirement("compaction.results")
def test_a_result_no_longer_than_its_placeholder_stays() -> None:
    talk = Talk().user(9000).batch(5, 5, 5, 5).answer(9000)
    assert planned(talk.state(reported=3900)).cleared_call_ids == ()


@pytest.mark.requirement("compaction.results")
def test_results_the_model_has_not_seen_stay_if_there_is_another_way() -> None:
    talk = Talk().user().batch(3000).user(4000, joins=True).batch(1000, 1000, 1000, 1000)
    state = talk.state(is_open=True, reported=3100)
    plan = planned(state)
    assert plan.cleared_call_ids == ("c1",)


@pytest.mark.requirement("compaction.keep")
def test_the_newest_six_messages_stay_from_a_users_message_on() -> None:
    talk = Talk()
    for _ in range(10):
        talk.user(100).answer(1000)
    state = talk.state(reported=3100)
    plan = planned(state)
    assert plan.kept_messages == 6
    assert len(plan.dropped) == 14
    kept = applied(state, plan).history
    assert isinstance(kept[0], UserMessage)
    assert kept == state.history[-6:]


@pytest.mark.requirement("compaction.keep")
def test_the_cut_walks_backward_to_a_users_message() -> None:
    talk = Talk()
    for _ in range(5):
        talk.user(2000).batch(10, 10, 10, 10).answer(10)
    state = talk.state(reported=3100)
    plan = planned(state)
    assert plan.kept_messages == 7
    assert isinstance(applied(state, plan).history[0], UserMessage)


@pytest.mark.requirement("compaction.halving")
@pytest.mark.parametrize(("size", "kept"), [(1000, 6), (3000, 4), (4500, 2)])
def test_the_keep_count_is_halved_while_more_than_half_the_window_is_left(
    size: int, kept: int
) -> None:
    talk = Talk()
    for _ in range(6):
        talk.user(10).answer(size)
    # 6, then 3, before which a user's message makes it 4, then 2.
    plan = planned(talk.state(reported=1))
    assert plan.kept_messages == kept
    assert plan.tokens_after <= WINDOW / 2


@pytest.mark.requirement("compaction.halving")
@pytest.mark.requirement("upstream.compaction-frees-enough")
def test_tools_that_fill_the_window_count_as_left() -> None:
    talk = Talk()
    for _ in range(6):
        talk.user(10).answer(1000)
    meter = TokenMeter(static_characters=5000)
    state = replace(talk.state(), meter=meter)
    assert planned(talk.state(), Trigger.MANUAL).kept_messages == 6
    assert planned(state, Trigger.MANUAL).kept_messages == 4


@pytest.mark.requirement("compaction.pairs")
def test_a_long_tool_loop_is_cut_between_its_rounds_and_keeps_what_it_is_about() -> None:
    talk = Talk().user(50)
    for _ in range(20):
        talk.batch(100, arguments=600)
    state = talk.state(is_open=True, reported=3100)
    plan = planned(state)
    assert plan.kept_input_ids == ("i1",)
    kept = applied(state, plan).history
    assert isinstance(kept[0], UserMessage)
    assert isinstance(kept[1], AssistantMessage)
    assert isinstance(kept[-1], ToolMessage)
    assert plan.kept_messages == 6


@pytest.mark.requirement("compaction.pairs")
def test_all_inputs_of_the_open_turn_stay() -> None:
    talk = Talk().user(50).answer().user(50).batch(10)
    talk.user(60, joins=True).batch(9000).user(70, joins=True).batch(9000)
    state = talk.state(is_open=True, reported=3900)
    plan = planned(state)
    kept = applied(state, plan).history
    inputs = [item.input_id for item in kept if isinstance(item, UserMessage)]
    assert inputs == ["i2", "i3", "i4"]


@pytest.mark.requirement("compaction.pairs")
def test_the_open_batch_is_never_dropped_however_many_join_behind_it() -> None:
    talk = Talk().user(9000).answer(9000).user(10).batch(100, 100)
    for _ in range(5):
        talk.user(10, joins=True)
    state = talk.state(is_open=True, reported=3900)
    kept = applied(state, planned(state)).history
    assert [type(item) for item in kept[:4]] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        ToolMessage,
    ]
    assert len(kept) == 9


@pytest.mark.requirement("compaction.too-large")
def test_a_message_that_does_not_fit_is_named() -> None:
    talk = Talk().user().answer().user(20_000)
    told = refused(talk.state(is_open=True))
    assert told.startswith("This message is too large for the model: it has about 500")
    assert str(WINDOW) in told


@pytest.mark.requirement("compaction.too-large")
@pytest.mark.parametrize(
    ("talk", "name"),
    [
        (Talk().user(20_000).batch(10), "This message"),
        (Talk().user().batch(20_000), "The result of a call to shell_execute"),
        (Talk().user().batch(10, arguments=20_000), "The model's last reply"),
        (Talk().user().note(20_000).user(), "A note"),
        (Talk().user(20_000).user(), "An earlier message"),
    ],
)
def test_whatever_does_not_fit_is_named(talk: Talk, name: str) -> None:
    assert refused(talk.state(is_open=True)).startswith(name)


@pytest.mark.requirement("compaction.too-large")
def test_where_instructions_and_tools_fill_most_of_it_no_message_is_blamed() -> None:
    state = Talk().user(10).state(is_open=True)
    state = replace(state, meter=replace(state.meter, static_characters=8_000))
    told = refused(state, Trigger.OVERFLOW)
    assert told == sentences.mostly_instructions(WINDOW)


@pytest.mark.requirement("compaction.too-large")
def test_a_message_that_did_not_fit_does_not_harm_the_next_one() -> None:
    talk = Talk().user(20_000).note().user()
    state = talk.state(is_open=True)
    plan = planned(state, Trigger.OVERFLOW)
    assert [type(item) for item in applied(state, plan).history] == [NoteMessage, UserMessage]


@pytest.mark.requirement("compaction.results")
def test_unseen_results_give_way_before_the_turn_fails() -> None:
    state = Talk().user().batch(*[3000] * 8).state(is_open=True)
    plan = planned(state)
    assert plan.cleared_call_ids == ("c1", "c2", "c3", "c4", "c5")
    big = Talk().user().batch(9000, 9000, 9000).state(is_open=True)
    assert planned(big).cleared_call_ids == ("c1", "c2")


@pytest.mark.requirement("compaction.abandon")
def test_between_turns_a_conversation_that_cannot_fit_leaves_only_notes() -> None:
    state = Talk().user(10).answer(20_000).state()
    plan = planned(state)
    assert plan.is_nothing_left
    assert plan.dropped == state.history
    assert plan.notes_characters > 0
    assert applied(state, plan, "Notes.").history == (
        NoteMessage(text="Notes.", at=2, kind=NoteKind.SUMMARY),
    )


@pytest.mark.requirement("compaction.nothing")
def test_without_anything_to_gain_nothing_is_planned() -> None:
    short = Talk().user().answer().state(reported=3900)
    assert make_plan(short, settings_of(), Trigger.THRESHOLD) is None
    assert make_plan(short, settings_of(), Trigger.MANUAL) is None
    assert make_plan(short, SessionSettings(), Trigger.MANUAL) is None
    assert make_plan(SessionState(last_input_tokens=9999), settings_of(), Trigger.MANUAL) is None
    alone = Talk().user().answer().note(10, kind=NoteKind.SUMMARY).user()
    assert "too large" in refused(Talk().user().state(is_open=True), Trigger.OVERFLOW)
    assert planned(alone.state(is_open=True), Trigger.OVERFLOW).dropped


@pytest.mark.requirement("compaction.nothing")
def test_instructions_that_fill_the_window_are_said_to() -> None:
    full = TokenMeter(static_characters=WINDOW * 4 + 100)
    resting = replace(Talk().user().answer().state(), meter=full)
    assert make_plan(resting, settings_of(), Trigger.THRESHOLD) is None
    running = replace(Talk().user().state(is_open=True), meter=full)
    assert refused(running).startswith("The instructions and tools alone are too large")


@pytest.mark.requirement("compaction.manual")
def test_on_request_old_messages_go_even_if_there_is_room() -> None:
    talk = Talk()
    for _ in range(4):
        talk.user().batch(500).answer()
    plan = planned(talk.state(), Trigger.MANUAL)
    assert plan.cleared_call_ids == ()
    assert plan.kept_messages == 8
    assert len(plan.dropped) == 8


@pytest.mark.requirement("compaction.overflow")
def test_a_refused_request_is_shortened_whatever_was_estimated() -> None:
    talk = Talk()
    for _ in range(4):
        talk.user(10).answer(100)
    state = talk.user(10).state(is_open=True)
    assert TokenMeter().tokens(characters_of(state.history)) < WINDOW / 2
    plan = planned(state, Trigger.OVERFLOW)
    assert plan.tokens_before == WINDOW
    assert plan.tokens_after <= WINDOW / 2


@pytest.mark.requirement("compaction.notes")
def test_earlier_notes_are_merged_and_alone_are_no_reason_to_drop() -> None:
    talk = Talk().note(100, kind=NoteKind.SUMMARY)
    for _ in range(6):
        talk.user(10).answer(1000)
    plan = planned(talk.state(reported=3100))
    assert plan.earlier_notes == "n" * 100
    assert all(not isinstance(item, NoteMessage) for item in plan.dropped)
    short = Talk().note(100, kind=NoteKind.SUMMARY).user().answer(9000).state(reported=3100)
    assert make_plan(short, settings_of(), Trigger.THRESHOLD) is None


@pytest.mark.requirement("compaction.notes")
def test_notes_have_room_only_where_there_is_room() -> None:
    talk = Talk()
    for _ in range(6):
        talk.user(10).answer(1000)
    assert planned(talk.state(reported=3100)).notes_characters == 994
    tight = Talk().user(600).answer(10).user(15_900).state(is_open=True)
    assert planned(tight).notes_characters == 0
    tiny = planned(
        Talk().user(2).answer(2).user(2).answer(2).state(),
        Trigger.MANUAL,
        settings_of(tuning=SessionTuning(keep_recent_messages=2)),
    )
    assert tiny.notes_characters == 400
