"""Leases of deferred tools: how long, how many, which goes, and that the journal knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.ids import CallId, TurnId
from netclaw.core.session import exposure
from netclaw.core.session.commands import FinishTool, ProposedCall
from netclaw.core.session.events import (
    ResetReason,
    SessionCreated,
    SessionKind,
    SessionReset,
    ToolResultRecorded,
)
from netclaw.core.session.evolve import evolve, replay
from netclaw.core.session.exposure import LEASE_TURNS, MAX_LEASES
from netclaw.core.session.rulings import ALLOWED
from netclaw.core.session.state import SessionState
from netclaw.core.tool_call import OutcomeCategory, ToolReceipt, ToolResult
from netclaw.testing.story import Story
from netclaw.wire.journal_codec import STATE_CODEC, decode_state, encode_state


def loads(story: Story, *tools: str) -> None:
    """The model loads these tools in one batch."""
    call = ProposedCall(provider_call_id="c", name="load_tool", arguments="{}", ruling=ALLOWED)
    story.when(story.answered(calls=[call] * len(tools)))
    for tool in tools:
        ended = story.tool_ended()
        result = replace(ended.result, loaded_tool=tool)
        story.when(FinishTool(token=ended.token, name="load_tool", result=result))


def asks_for(story: Story, tool: str) -> None:
    """The model calls this tool and it ends."""
    call = ProposedCall(provider_call_id="c", name=tool, arguments="{}", ruling=ALLOWED)
    story.when(story.answered(calls=[call]))
    story.finish_tools()


def shown(story: Story) -> tuple[str, ...]:
    """The deferred tools of the next model request."""
    return exposure.loaded(story.state.leases)


def turn_with(*tools: str) -> Story:
    """A session whose first turn loaded these tools and is over."""
    story = Story()
    story.start()
    story.admit()
    loads(story, *tools)
    assert shown(story) == tools
    story.answer()
    return story


@pytest.mark.requirement("exposure.lease")
def test_a_lease_lasts_three_turns_with_the_one_of_its_load() -> None:
    story = turn_with("a")
    for _ in range(LEASE_TURNS - 1):
        story.admit()
        assert shown(story) == ("a",)
        story.answer()
    assert shown(story) == ()


@pytest.mark.requirement("exposure.lease")
def test_a_use_begins_the_three_turns_anew_and_a_failed_turn_counts() -> None:
    story = turn_with("a", "b")
    story.admit()
    asks_for(story, "a")
    story.answer()
    story.admit()
    story.when(story.failed())
    assert shown(story) == ("a",)
    story.admit()
    story.answer()
    assert shown(story) == ()


@pytest.mark.requirement("exposure.lease")
def test_what_netclaw_answers_itself_is_no_turn_of_a_lease() -> None:
    story = turn_with("a")
    for _ in range(2 * LEASE_TURNS):
        story.admit("/status")
    assert shown(story) == ("a",)


@pytest.mark.requirement("exposure.twelve")
def test_the_least_recently_used_of_twelve_makes_way() -> None:
    names = tuple(f"t{n}" for n in range(MAX_LEASES))
    story = turn_with(*names)
    story.admit()
    asks_for(story, "t0")
    loads(story, "new")
    assert shown(story) == ("t0", *names[2:], "new")
    loads(story, "newer")
    assert shown(story) == ("t0", *names[3:], "new", "newer")


@pytest.mark.requirement("exposure.order")
def test_neither_use_nor_a_second_load_moves_a_tool() -> None:
    story = turn_with("a", "b", "c")
    story.admit()
    asks_for(story, "c")
    loads(story, "a")
    assert shown(story) == ("a", "b", "c")


@pytest.mark.requirement("exposure.journal")
def test_leases_survive_a_crash_and_a_snapshot() -> None:
    story = turn_with("a", "b")
    held = story.state.leases
    story.crash()
    story.start()
    assert story.state.leases == held
    assert decode_state(STATE_CODEC, encode_state(story.state)) == story.state
    assert replay(SessionState(), story.journal) == story.state


@pytest.mark.requirement("exposure.journal")
def test_a_reset_forgets_what_was_loaded() -> None:
    story = turn_with("a")
    story.given(SessionReset(reason=ResetReason.OPERATOR, life=2))
    assert shown(story) == ()


@pytest.mark.requirement("exposure.own-set")
def test_a_child_begins_with_nothing_loaded() -> None:
    parent = turn_with("a")
    created = parent.journal[0]
    event = created.event
    assert isinstance(event, SessionCreated)
    child = evolve(SessionState(), replace(created, event=replace(event, kind=SessionKind.CHILD)))
    assert child.leases == ()


@pytest.mark.requirement("exposure.journal")
def test_a_result_that_names_no_tool_or_no_open_call_loads_nothing() -> None:
    story = turn_with("a")
    before = story.state.leases
    story.admit()
    ended = ToolResult(
        call_id=CallId("stray"),
        text="done",
        receipt=ToolReceipt(category=OutcomeCategory.SUCCESS),
        loaded_tool="b",
    )
    story.given(ToolResultRecorded(turn_id=TurnId("another"), result=ended))
    assert story.state.leases == before
