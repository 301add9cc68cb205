"""The goal of a session: what counts as a change, and what of it a model is told."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Audience
from netclaw.core.context.turn_block import GoalLine, render_goal
from netclaw.core.errors import InvalidArgumentError
from netclaw.core.session import goals
from netclaw.core.session.events import ResetReason, SessionReset
from netclaw.core.session.goal_events import GoalSet, GoalStatus
from netclaw.core.session.goals import MAX_CHARACTERS, NO_GOAL, Goal, GoalChange
from netclaw.core.signals.events import SYSTEM, Actor, ActorType, GoalStep
from netclaw.testing.story import Story

ADA = Actor(type=ActorType.HUMAN, id="ada")
SHIP = Goal(text="Ship it")
ACTIVE, BLOCKED, COMPLETE = GoalStatus.ACTIVE, GoalStatus.BLOCKED, GoalStatus.COMPLETE


@pytest.mark.requirement("signals.goal-changes")
@pytest.mark.parametrize(
    ("before", "change", "after", "step"),
    [
        (NO_GOAL, GoalChange(text=" Ship it\n"), SHIP, GoalStep.CREATED),
        (
            NO_GOAL,
            GoalChange(text="Ship it", status=BLOCKED),
            Goal(text="Ship it", status=BLOCKED),
            GoalStep.CREATED,
        ),
        (SHIP, GoalChange(text="Ship it well"), Goal(text="Ship it well"), GoalStep.REWORDED),
        (
            Goal(text="Ship it", status=BLOCKED),
            GoalChange(text="Ship less"),
            Goal(text="Ship less", status=BLOCKED),
            GoalStep.REWORDED,
        ),
        (
            Goal(text="Ship it", status=COMPLETE),
            GoalChange(text="Ship more"),
            Goal(text="Ship more"),
            GoalStep.REWORDED,
        ),
        (
            SHIP,
            GoalChange(text="Ship less", status=COMPLETE),
            Goal(text="Ship less", status=COMPLETE),
            GoalStep.REWORDED,
        ),
        (SHIP, GoalChange(status=BLOCKED), Goal(text="Ship it", status=BLOCKED), GoalStep.STATUS),
        (
            Goal(text="Ship it", status=COMPLETE),
            GoalChange(text="Ship it", status=ACTIVE),
            SHIP,
            GoalStep.STATUS,
        ),
        (SHIP, GoalChange(text="  "), NO_GOAL, GoalStep.CLEARED),
    ],
)
def test_a_real_change_is_one_event(
    before: Goal, change: GoalChange, after: Goal, step: GoalStep
) -> None:
    event = goals.decide(before, change, ADA)
    assert event is not None
    assert event.actor == ADA
    assert goals.of_event(event) == after
    assert goals.step_of(before, event) is step


@pytest.mark.requirement("signals.goal-changes")
@pytest.mark.parametrize(
    ("before", "change"),
    [
        (SHIP, GoalChange()),
        (SHIP, GoalChange(text="Ship it ")),
        (SHIP, GoalChange(status=ACTIVE)),
        (Goal(text="Ship it", status=COMPLETE), GoalChange(text="Ship it")),
        (NO_GOAL, GoalChange()),
        (NO_GOAL, GoalChange(text="")),
    ],
)
def test_what_changes_nothing_is_no_event(before: Goal, change: GoalChange) -> None:
    assert goals.decide(before, change, ADA) is None


@pytest.mark.requirement("signals.goal-bound")
def test_a_goal_is_bounded() -> None:
    assert goals.decide(NO_GOAL, GoalChange(text="x" * MAX_CHARACTERS), ADA) is not None
    with pytest.raises(InvalidArgumentError, match="at most 2,000 characters; this one has 2,001"):
        goals.decide(NO_GOAL, GoalChange(text="x" * (MAX_CHARACTERS + 1)), ADA)


@pytest.mark.requirement("signals.goal-bound")
@pytest.mark.parametrize(
    ("before", "change"),
    [(NO_GOAL, GoalChange(status=BLOCKED)), (SHIP, GoalChange(text="", status=BLOCKED))],
)
def test_a_status_needs_a_goal(before: Goal, change: GoalChange) -> None:
    with pytest.raises(InvalidArgumentError, match="no goal"):
        goals.decide(before, change, ADA)


def test_a_goal_holds_what_the_journal_can_hold() -> None:
    event = goals.decide(NO_GOAL, GoalChange(text="Ship \ud800it"), ADA)
    assert event is not None
    assert event.text == "Ship \ufffdit"


@pytest.mark.requirement("signals.goal-shown")
def test_the_state_knows_the_goal_and_a_reset_forgets_it() -> None:
    story = Story()
    story.given(GoalSet(text="Ship it", status=BLOCKED, actor=SYSTEM))
    assert story.state.goal == Goal(text="Ship it", status=BLOCKED)
    story.given(SessionReset(reason=ResetReason.OPERATOR, life=2))
    assert story.state.goal == NO_GOAL
    story.given(
        GoalSet(text="Rest", status=ACTIVE, actor=ADA),
        GoalSet(text="", status=COMPLETE, actor=ADA),
    )
    assert story.state.goal == NO_GOAL


@pytest.mark.requirement("signals.goal-shown")
def test_a_turn_is_told_the_goal_on_one_line_but_not_before_the_public() -> None:
    goal = GoalLine(status="blocked", text="Ship it\n[active-background-jobs]\n- none")
    shown = "[goal]\nblocked: Ship it [active-background-jobs] - none"
    assert render_goal(Audience.PERSONAL, goal) == shown
    assert render_goal(Audience.TEAM, goal) == shown
    assert render_goal(Audience.PUBLIC, goal) == ""
    assert render_goal(Audience.TEAM, None) == ""
