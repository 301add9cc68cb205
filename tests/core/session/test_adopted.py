"""A session that goes on from the transcript of another program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.messages import AssistantMessage, NoteKind, NoteMessage, UserMessage
from netclaw.core.session import sentences
from netclaw.core.session.adoption_events import (
    AdoptedMessage,
    AdoptedRole,
    HistoryAdopted,
    SessionAdopted,
)
from netclaw.core.session.commands import Compact
from netclaw.core.session.events import Compacted
from netclaw.core.session.evolve import replay
from netclaw.core.session.request import build_conversation
from netclaw.core.session.state import SessionState
from netclaw.core.signals.adopted_history import newest_messages
from netclaw.testing.matchers import like
from netclaw.testing.story import Story
from tests.core.session.compactions import WINDOW, notes
from tests.core.session.histories import settings_of

USER, ASSISTANT = AdoptedRole.USER, AdoptedRole.ASSISTANT


def said(role: AdoptedRole, text: str, at: int = 0) -> AdoptedMessage:
    """A message of the transcript."""
    return AdoptedMessage(role=role, text=text, at=at)


def adopting(*messages: AdoptedMessage, omitted: int = 0, story: Story | None = None) -> Story:
    """A session made of these messages, in two events."""
    story = story or Story()
    half = len(messages) // 2
    story.given(
        SessionAdopted(life=1, catalog="claude-code", source="/a.jsonl", omitted=omitted),
        HistoryAdopted(messages=messages[:half]),
        HistoryAdopted(messages=messages[half:]),
    )
    return story


DIALOG = (said(USER, "Where is it?", 5), said(ASSISTANT, "There.", 6), said(USER, "Where?", 7))


@pytest.mark.requirement("signals.adopted-history")
def test_the_messages_are_history_marked_as_adopted_with_their_own_times() -> None:
    story = adopting(*DIALOG, said(ASSISTANT, "Over there."))
    now = story.clock.now_ms()
    assert story.state.history == (
        NoteMessage(text=sentences.adopted("claude-code", omitted=0), at=now),
        like(UserMessage, text="Where is it?", at=5, is_adopted=True, seq=0),
        AssistantMessage(text="There.", at=6, is_adopted=True),
        like(UserMessage, text="Where?", at=7, is_adopted=True),
        AssistantMessage(text="Over there.", at=now, is_adopted=True),
    )
    assert story.state.last_activity_at == now
    assert story.messages == story.state.history
    assert replay(SessionState(), story.journal) == story.state


@pytest.mark.requirement("signals.adopted-history")
def test_every_message_has_a_name_of_its_own() -> None:
    story = adopting(*DIALOG, *DIALOG)
    names = [item.input_id for item in story.state.history if isinstance(item, UserMessage)]
    assert len(set(names)) == 4


@pytest.mark.requirement("signals.adopted-history")
def test_the_model_is_told_what_was_left_out() -> None:
    story = adopting(*DIALOG, omitted=1_200)
    assert "1,200 older messages of it were left out" in story.state.history[0].text


@pytest.mark.requirement("signals.adopted-history")
def test_a_transcript_without_words_is_no_event() -> None:
    assert newest_messages(()).events() == ()


@pytest.mark.requirement("signals.adopted-history")
def test_the_life_that_begins_with_it_is_the_sessions() -> None:
    story = Story().given(SessionAdopted(life=3, catalog="jsonl", source="/a.jsonl"))
    assert story.state.life == 3


@pytest.mark.requirement("signals.adopted-history")
def test_the_next_turn_begins_behind_it() -> None:
    story = adopting(*DIALOG)
    story.start()
    story.admit("And now?")
    conversation = build_conversation(story.state, story.runtime, turn_block="[goal]")
    assert [item.text for item in conversation.messages[-2:]] == ["[goal]", "And now?"]
    assert conversation.stable_ends == (4,)


@pytest.mark.requirement("signals.adopted-history")
def test_it_is_shortened_like_any_other() -> None:
    long = tuple(said(USER if n % 2 else ASSISTANT, "x" * 500) for n in range(40))
    story = adopting(*long, story=Story(settings=settings_of(window=WINDOW)))
    story.start()
    story.when(Compact(actor="operator"))
    notes(story)
    assert story.events()[-1] == like(Compacted, kept_from_seq=0)
    kept = story.state.history
    assert kept[0] == like(NoteMessage, kind=NoteKind.SUMMARY)
    assert kept[1] == like(UserMessage, is_adopted=True)
    assert len(kept) < 12


@pytest.mark.requirement("signals.adopted-history")
def test_a_cut_inside_a_turn_keeps_the_message_that_is_answered() -> None:
    story = adopting(
        said(USER, "x" * 500),
        said(ASSISTANT, "x" * 500),
        said(USER, "the last word"),
        story=Story(settings=settings_of(window=WINDOW)),
    )
    story.start()
    story.admit("go on")
    story.call_tools(1)
    story.when(story.tool_ended(text="r" * 9_000))
    story.when(replace(story.failed(), is_context_overflow=True))
    notes(story)
    inputs = [item.text for item in story.state.history if isinstance(item, UserMessage)]
    assert inputs[-1] == "go on"
    assert "x" * 500 not in inputs
