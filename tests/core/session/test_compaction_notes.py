"""What the notes call is shown, and how long its answer may be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.ids import SessionId
from netclaw.core.messages import Message, NoteKind, NoteMessage, UserMessage
from netclaw.core.session.compaction import make_plan
from netclaw.core.session.compaction_notes import (
    HEADER,
    notes_text,
    prompt,
    transcript,
)
from netclaw.core.session.compaction_state import CompactionPlan, Trigger
from netclaw.core.session.transcript import LEFT_OUT
from tests.core.session.histories import Talk, settings_of

SETTINGS = settings_of(window=8000)


def plan_of(talk: Talk) -> CompactionPlan:
    """The plan that drops all but the newest six of these messages."""
    plan = make_plan(talk.state(), SETTINGS, Trigger.MANUAL)
    assert isinstance(plan, CompactionPlan)
    return plan


def tail(talk: Talk) -> Talk:
    """Six messages that stay."""
    for _ in range(3):
        talk.user().answer()
    return talk


def shown(plan: CompactionPlan) -> str:
    (message,) = transcript(plan, SETTINGS, 4.0)
    assert isinstance(message, NoteMessage)
    return message.text


@pytest.mark.requirement("compaction.notes")
def test_each_kind_of_message_is_shown_in_its_order() -> None:
    plan = plan_of(tail(Talk().user(3).batch(4, arguments=2).note(5).answer(6)))
    lines = [
        "Person: 1:uuu",
        "Assistant called shell_execute: aa",
        "Result: rrrr",
        "Note: nnnnn",
        "Assistant: aaaaaa",
    ]
    assert shown(plan) == "<transcript>\n" + "\n\n".join(lines) + "\n</transcript>"


@pytest.mark.requirement("compaction.notes")
def test_the_person_who_wrote_is_named() -> None:
    plan = plan_of(tail(Talk().user(3)))
    written = plan.dropped[0]
    assert isinstance(written, UserMessage)
    named: tuple[Message, ...] = (replace(written, sender="Ada"),)
    assert "Person (Ada): 1:uuu" in shown(replace(plan, dropped=named))


@pytest.mark.requirement("compaction.notes")
def test_a_transcript_fits_the_smallest_model_that_may_be_asked() -> None:
    talk = Talk()
    for _ in range(20):
        talk.user(5000).batch(3000, arguments=3000).answer(5000)
    plan = plan_of(tail(talk))
    assert len(shown(plan)) <= 8000 * 4 * 0.5 + 100
    assert LEFT_OUT in shown(plan)
    assert "Person: 20:" in shown(plan)
    assert "Person: 1:" not in shown(plan)
    assert SETTINGS.main_model is not None
    small = replace(SETTINGS.main_model, context_window=2000)
    (message,) = transcript(plan, replace(SETTINGS, fallback_model=small), 4.0)
    assert len(message.text) <= 2000 * 4 * 0.5 + 100
    (message,) = transcript(plan, replace(SETTINGS, compaction_model=small), 4.0)
    assert len(message.text) <= 2000 * 4 * 0.5 + 100


@pytest.mark.requirement("compaction.notes")
def test_a_long_item_loses_its_middle() -> None:
    text = shown(plan_of(tail(Talk().user().batch(5000))))
    assert "r [...] r" in text
    assert len(text) < 1500


@pytest.mark.requirement("compaction.notes")
def test_earlier_notes_come_first_and_are_bounded() -> None:
    plan = plan_of(tail(Talk().note(100, kind=NoteKind.SUMMARY).user()))
    assert shown(plan).startswith("<earlier_notes>\n" + "n" * 100 + "\n</earlier_notes>")
    long = replace(plan, earlier_notes="n" * 50_000)
    assert len(shown(long)) < 9000


@pytest.mark.requirement("compaction.notes")
def test_the_prompt_names_the_session_and_the_room() -> None:
    plan = replace(plan_of(tail(Talk().user())), notes_characters=7000)
    asked = prompt(plan, SessionId("cli/abc"))
    assert "This session is cli/abc." in asked
    assert "about 1000 words" in asked
    assert "This session is this one." in prompt(plan, SessionId(""))


@pytest.mark.requirement("compaction.notes")
def test_notes_are_headed_and_cut_to_their_room() -> None:
    plan = replace(plan_of(tail(Talk().user())), notes_characters=600, earlier_notes="Old.")
    assert notes_text(plan, " Short.\n") == f"{HEADER}\n\nShort."
    assert len(notes_text(plan, "x" * 5000)) <= 600
    assert notes_text(plan, "  ") == "Old."
    assert notes_text(plan, "half \ud83d") == f"{HEADER}\n\nhalf \ufffd"
    assert notes_text(replace(plan, notes_characters=0), "Short.") == ""
