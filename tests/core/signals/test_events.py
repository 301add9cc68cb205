"""The eight kinds: their lines, facts and names."""

from __future__ import annotations

import pytest

from netclaw.core.signals import events
from netclaw.core.signals.events import (
    MATERIAL,
    SYSTEM,
    ActorType,
    GoalStep,
    RunOutcome,
    Signal,
    SignalKind,
    SignalPayload,
)
from tests.core.signals.people import ADA, RUN, C, D, P, agent

HOUR_MS = 3_600_000


@pytest.mark.requirement("signals.kinds")
def test_the_kinds_are_these_eight_and_three_are_told_of() -> None:
    assert {kind.value for kind in SignalKind} == {
        "human_direct_message",
        "goal_changed",
        "upstream_missing",
        "child_spawned",
        "run_completed",
        "run_failed",
        "compacted",
        "adopted",
    }
    told = {kind.value for kind in SignalKind if kind.is_material}
    assert told == {"human_direct_message", "goal_changed", "upstream_missing"} == MATERIAL


def shown(signal: Signal) -> tuple[object, ...]:
    """What matters of a signal."""
    return (signal.kind.value, signal.actor, signal.summary, signal.payload, signal.dedupe_key)


NOTHING = SignalPayload()


@pytest.mark.requirement("signals.summaries")
@pytest.mark.requirement("signals.once")
def test_each_kind_is_told_by_its_exact_line() -> None:
    assert shown(events.human_message(D, ADA, channel="slack", at=1)) == (
        "human_direct_message",
        ADA,
        "human message via slack",
        NOTHING,
        None,
    )
    assert shown(events.human_message(D, ADA, channel="", at=1))[2] == "human message via unknown"
    assert shown(
        events.upstream_missing(D, catalog="jsonl", source_hash="ab", link_updated_at=7, at=1)
    ) == (
        "upstream_missing",
        SYSTEM,
        "upstream missing via jsonl",
        SignalPayload(channel="jsonl"),
        f"upstream-missing:{D}:ab:7",
    )
    spawned = events.child_spawned(C, parent=P, run_id=RUN, at=1)
    assert spawned.run_id == RUN
    assert shown(spawned) == (
        "child_spawned",
        agent(P),
        "child session spawned",
        NOTHING,
        "child-spawned:run1",
    )
    assert shown(events.compacted(D, operation="x:3", at=1)) == (
        "compacted",
        SYSTEM,
        "session compacted",
        NOTHING,
        "compacted:x:3",
    )
    assert shown(events.adopted(D, ADA, catalog="jsonl", host="local", key="k", at=1)) == (
        "adopted",
        ADA,
        "adopted from jsonl",
        SignalPayload(catalog_id="jsonl", host_id="local"),
        "adopted:k",
    )


@pytest.mark.requirement("signals.summaries")
@pytest.mark.parametrize(("turns", "told"), [(1, 0), (2, 2), (40, 40)])
def test_messages_of_a_transcript_are_one_event_that_counts_them(turns: int, told: int) -> None:
    signal = events.upstream_message(
        D, catalog="jsonl", source_hash="ab", activity_id="900", turns=turns, at=1
    )
    assert signal.actor.type is ActorType.HUMAN
    assert signal.summary == "human message via jsonl"
    assert signal.payload == SignalPayload(channel="jsonl", turns=told)
    assert signal.dedupe_key == f"upstream:{D}:ab:900"


@pytest.mark.requirement("signals.summaries")
@pytest.mark.parametrize(
    ("step", "line"),
    [
        (GoalStep.CREATED, "goal created"),
        (GoalStep.REWORDED, "goal objective changed"),
        (GoalStep.STATUS, "goal status changed to blocked"),
        (GoalStep.CLEARED, "goal cleared"),
    ],
)
def test_each_change_of_a_goal_has_its_line(step: GoalStep, line: str) -> None:
    signal = events.goal_changed(D, ADA, step=step, status="blocked", at=1)
    assert shown(signal) == ("goal_changed", ADA, line, NOTHING, None)


@pytest.mark.requirement("signals.summaries")
@pytest.mark.requirement("signals.once")
@pytest.mark.parametrize(
    ("outcome", "kind", "line", "payload"),
    [
        (RunOutcome.COMPLETED, "run_completed", "child run completed", NOTHING),
        (RunOutcome.ERROR, "run_failed", "child run failed", SignalPayload(outcome="error")),
        (
            RunOutcome.TIMEOUT,
            "run_failed",
            "child run timed out",
            SignalPayload(outcome="timeout"),
        ),
        (
            RunOutcome.CANCELLED,
            "run_failed",
            "child run cancelled",
            SignalPayload(outcome="cancelled"),
        ),
    ],
)
def test_a_run_ends_with_the_exact_outcome(
    outcome: RunOutcome, kind: str, line: str, payload: SignalPayload
) -> None:
    signal = events.run_ended(C, run_id=RUN, outcome=outcome, at=1)
    assert shown(signal) == (kind, SYSTEM, line, payload, "run-terminal:run1")
    assert signal.run_id == RUN


@pytest.mark.requirement("signals.summaries")
@pytest.mark.parametrize(
    ("told", "recorded"),
    [(100 * HOUR_MS, 100 * HOUR_MS), (101 * HOUR_MS, 100 * HOUR_MS), (0, 76 * HOUR_MS)],
)
def test_a_foreign_clock_is_believed_for_a_day_at_most(told: int, recorded: int) -> None:
    assert events.clamped(told, now=100 * HOUR_MS) == recorded
