"""Of any history compaction keeps the pairs, and it ends below the window."""

from __future__ import annotations

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from netclaw.core.context.token_estimate import characters_of
from netclaw.core.messages import (
    AssistantMessage,
    Message,
    NoteKind,
    NoteMessage,
    ToolMessage,
    UserMessage,
)
from netclaw.core.session import sentences
from netclaw.core.session.compaction import TooLarge, make_plan
from netclaw.core.session.compaction_state import CompactionPlan, Trigger
from netclaw.core.session.state import SessionState
from tests.core.session.histories import WINDOW, applied, settings_of, states

SETTINGS = settings_of()
TRIGGERS = st.sampled_from(list(Trigger))


def pairs_are_whole(history: tuple[Message, ...]) -> bool:
    """Every call is followed by its results, in order, and no result stands alone."""
    expected: list[str] = []
    for item in history:
        if isinstance(item, ToolMessage):
            if not expected or item.call_id != expected.pop(0):
                return False
        elif expected:
            return False
        elif isinstance(item, AssistantMessage):
            expected = [call.call_id for call in item.calls]
    return not expected


@pytest.mark.requirement("compaction.pairs")
@given(states(), TRIGGERS)
def test_no_call_loses_its_result_nor_a_result_its_call(
    state: SessionState, trigger: Trigger
) -> None:
    assert pairs_are_whole(state.history)
    plan = make_plan(state, SETTINGS, trigger)
    if isinstance(plan, CompactionPlan):
        assert pairs_are_whole(applied(state, plan, "Notes.").history)


@pytest.mark.requirement("compaction.below-window")
@given(states(), TRIGGERS)
def test_what_is_planned_fits_the_window_with_its_notes(
    state: SessionState, trigger: Trigger
) -> None:
    plan = make_plan(state, SETTINGS, trigger)
    if isinstance(plan, CompactionPlan):
        assert plan.tokens_after <= WINDOW
        after = applied(state, plan, "n" * plan.notes_characters)
        # In the plan's own measure, and give or take the rounding.
        ratio = plan.tokens_before / max(1, _size(state))
        assert _size(after) * ratio <= WINDOW + 1


@pytest.mark.requirement("compaction.below-window")
@given(states(), st.sampled_from([Trigger.THRESHOLD, Trigger.OVERFLOW]))
def test_it_comes_to_an_end_however_often_it_is_asked(
    state: SessionState, trigger: Trigger
) -> None:
    assume(trigger is Trigger.THRESHOLD or state.turn is not None)
    steps = 0
    while isinstance(plan := make_plan(state, SETTINGS, trigger), CompactionPlan):
        before = _progress(state)
        state = applied(state, plan, "n" * plan.notes_characters)
        assert _progress(state) < before, "a compaction that changes nothing"
        steps += 1
    event(f"steps: {steps}")
    if trigger is Trigger.OVERFLOW:
        assert isinstance(plan, TooLarge)
    elif plan is None:
        assert state.meter.tokens(_size(state)) <= WINDOW


@pytest.mark.requirement("compaction.keep")
@given(states(), TRIGGERS)
def test_the_open_turn_keeps_its_inputs_and_what_was_not_seen(
    state: SessionState, trigger: Trigger
) -> None:
    plan = make_plan(state, SETTINGS, trigger)
    if state.turn is None or not isinstance(plan, CompactionPlan):
        return
    kept = applied(state, plan).history
    inputs = [item.input_id for item in kept if isinstance(item, UserMessage)]
    assert set(inputs) >= set(state.turn.input_ids)
    assert inputs == sorted(inputs, key=lambda item: int(item[1:]))
    results = {item.call_id for item in kept if isinstance(item, ToolMessage)}
    assert results >= {item.call.call_id for item in state.turn.batch}


@pytest.mark.requirement("compaction.results")
@given(states(), TRIGGERS)
def test_only_results_change_and_the_newest_stays_whole(
    state: SessionState, trigger: Trigger
) -> None:
    plan = make_plan(state, SETTINGS, trigger)
    if not isinstance(plan, CompactionPlan):
        return
    kept = applied(state, plan).history
    changed = [item for item in kept if item not in state.history]
    assert {item.text for item in changed} <= {sentences.RESULT_CLEARED}
    assert all(isinstance(item, ToolMessage) for item in changed)
    results = [item for item in kept if isinstance(item, ToolMessage)]
    if results:
        assert results[-1] not in changed


@pytest.mark.requirement("compaction.notes")
@given(states(), TRIGGERS)
def test_what_is_dropped_is_what_the_notes_are_made_from(
    state: SessionState, trigger: Trigger
) -> None:
    plan = make_plan(state, SETTINGS, trigger)
    if isinstance(plan, CompactionPlan):
        kept = applied(state, plan).history
        earlier = [item for item in state.history if _is_summary(item) and item not in kept]
        assert len(plan.dropped) + len(kept) + len(earlier) == len(state.history)
        assert plan.earlier_notes == "".join(item.text for item in earlier)


def _is_summary(item: Message) -> bool:
    return isinstance(item, NoteMessage) and item.kind is NoteKind.SUMMARY


def _size(state: SessionState) -> int:
    return characters_of(state.history)


def _progress(state: SessionState) -> tuple[int, int, int]:
    """Falls with every compaction: messages that are no notes, results still whole, notes."""
    whole = [
        item
        for item in state.history
        if isinstance(item, ToolMessage) and item.text != sentences.RESULT_CLEARED
    ]
    notes = [item for item in state.history if _is_summary(item)]
    return len(state.history) - len(notes), len(whole), characters_of(notes)
