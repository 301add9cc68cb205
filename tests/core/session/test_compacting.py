"""Compactions between turns: begun, answered, recorded, abandoned, asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.context.token_estimate import RequestSize
from netclaw.core.messages import (
    NoteKind,
    NoteMessage,
    Usage,
    UserMessage,
)
from netclaw.core.session import sentences
from netclaw.core.session.commands import (
    Compact,
    FailNotes,
    FinishNotes,
    TimerKind,
)
from netclaw.core.session.compaction_notes import HEADER
from netclaw.core.session.compaction_state import Trigger
from netclaw.core.session.events import (
    Compacted,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.outputs import (
    CompactionOutput,
    ErrorOutput,
    NoticeOutput,
    ProcessingOutput,
)
from netclaw.core.session.phase import Phase
from netclaw.testing.matchers import like
from netclaw.testing.people import BOB, OPERATOR, REMINDER
from netclaw.testing.story import SHELL, Story
from tests.core.session.compactions import (
    FULL,
    calls_of,
    compacting,
    notes,
    overfull,
    phase_of,
    run_of,
    story,
)


@pytest.mark.requirement("compaction.threshold")
def test_a_turn_below_the_threshold_ends_in_ready() -> None:
    told = story()
    assert phase_of(told) is Phase.READY
    assert told.runtime.compaction is None


@pytest.mark.requirement("compaction.threshold")
def test_a_turn_above_the_threshold_is_followed_by_a_compaction() -> None:
    told = compacting()
    assert isinstance(told.events()[-1], TurnRecorded)
    (call,) = calls_of(told.last)
    assert call.token == run_of(told).token
    assert run_of(told).trigger is Trigger.THRESHOLD
    assert ProcessingOutput(phase=Phase.COMPACTING, buffered_inputs=0) in [
        item.output for item in told.last.effects if hasattr(item, "output")
    ]


@pytest.mark.requirement("compaction.record")
def test_it_is_recorded_with_a_snapshot_and_starts_the_count_anew() -> None:
    told = compacting()
    decision = notes(told)
    (event,) = decision.events
    assert isinstance(event, Compacted)
    assert decision.needs_snapshot
    assert decision.runtime.snapshot_seq == told.state.head
    assert told.state.last_input_tokens == 0
    assert event.trigger == "threshold"
    assert (event.tokens_before, event.tokens_after < 2500) == (3500, True)
    said = like(CompactionOutput, tokens_before=3500, kept_messages=event.kept_messages)
    assert decision.outputs == (said,)
    assert phase_of(told) is Phase.READY
    assert told.runtime.idle_token


@pytest.mark.requirement("compaction.notes")
def test_notes_stand_before_what_was_kept() -> None:
    told = compacting()
    before = told.state.history
    notes(told)
    first, *rest = told.state.history
    assert first == like(NoteMessage, kind=NoteKind.SUMMARY, text=f"{HEADER}\n\nThe notes.")
    assert tuple(rest) == before[-len(rest) :]
    assert isinstance(rest[0], UserMessage)


@pytest.mark.requirement("compaction.record")
def test_the_record_names_where_the_kept_part_begins() -> None:
    told = compacting()
    notes(told)
    event = told.events()[-1]
    assert isinstance(event, Compacted)
    kept = told.state.history[1]
    assert isinstance(kept, UserMessage)
    assert event.kept_from_seq == kept.seq > 0


@pytest.mark.requirement("compaction.notes")
def test_the_call_shows_what_is_dropped_and_no_more() -> None:
    told = compacting()
    (call,) = calls_of(told.last)
    (shown,) = call.messages
    assert "Person (operator): question 0" in shown.text
    assert "the last question" not in shown.text
    assert told.state.session_id in call.system_prompt


@pytest.mark.requirement("compaction.notes")
@pytest.mark.parametrize("failed", [True, False])
def test_without_notes_the_cut_stands_and_the_person_is_told(failed: bool) -> None:
    told = compacting()
    token = run_of(told).token
    if failed:
        told.when(FailNotes(token=token, sentence="It is down."))
    else:
        told.when(FinishNotes(token=token, text=" \n"))
    assert isinstance(told.events()[-1], Compacted)
    assert told.state.history[0] == like(NoteMessage, text=sentences.NO_NOTES)
    why = "It is down." if failed else sentences.NOTES_EMPTY
    notice = NoticeOutput(sentence=sentences.without_notes(why), kind="compaction")
    assert told.last.outputs[-1] == notice


@pytest.mark.requirement("compaction.notes")
def test_without_room_for_notes_none_are_asked_for_and_it_is_said() -> None:
    told = story(turns=2, size=100)
    told.admit("y" * 14_800)
    told.when(replace(told.failed(), is_context_overflow=True))
    (call,) = calls_of(told.last)
    assert call.messages == ()
    told.when(FinishNotes(token=call.token, text=""))
    assert told.events()[-1] == like(Compacted, notes="")
    told_why = sentences.without_notes(sentences.NOTES_WITHOUT_ROOM)
    assert told.last.outputs[-1] == NoticeOutput(sentence=told_why, kind="compaction")


@pytest.mark.requirement("compaction.notes")
def test_earlier_notes_are_shown_and_outlive_a_failure() -> None:
    told = compacting()
    notes(told, "First notes.")
    for _ in range(4):
        told.admit("more")
        told.when(told.answered("y" * 900))
    told.admit("again")
    told.when(overfull(told))
    (call,) = calls_of(told.last)
    assert "<earlier_notes>" in call.messages[0].text
    assert "First notes." in call.messages[0].text
    told.when(FailNotes(token=run_of(told).token, sentence="Down."))
    assert told.state.history[0] == like(NoteMessage, text=f"{HEADER}\n\nFirst notes.")


@pytest.mark.requirement("compaction.results")
def test_cleared_results_alone_ask_for_no_notes() -> None:
    told = story(turns=0)
    told.admit("work")
    told.call_tools(5)
    while told.runtime.running:
        told.when(told.tool_ended(text="r" * 2000))
    told.when(overfull(told))
    (call,) = calls_of(told.last)
    assert call.messages == ()
    told.when(FinishNotes(token=call.token, text=""))
    event = told.events()[-1]
    assert isinstance(event, Compacted)
    assert len(event.cleared_call_ids) == 2
    assert event.notes == ""
    assert not any(isinstance(item, NoticeOutput) for item in told.last.outputs)


@pytest.mark.requirement("compaction.buffer")
def test_inputs_meanwhile_wait_and_run_right_after() -> None:
    told = compacting()
    assert told.admit("meanwhile", by=BOB).events == ()
    assert phase_of(told) is Phase.COMPACTING
    decision = notes(told)
    assert [type(item) for item in decision.events] == [Compacted, TurnStarted]
    assert decision.needs_snapshot
    assert phase_of(told) is Phase.PROCESSING
    assert len(decision.early) == 1


@pytest.mark.requirement("compaction.buffer")
def test_the_person_who_ended_an_automated_turn_is_still_next() -> None:
    told = story()
    told.admit("remind", by=REMINDER)
    told.call_tools(1)
    told.given(told.input("webhook first", by=REMINDER), told.input("me", by=OPERATOR))
    told.state = replace(told.state, last_input_tokens=3500)
    told.when(told.tool_ended())
    assert phase_of(told) is Phase.COMPACTING
    assert run_of(told).next_input is not None
    decision = notes(told)
    started = decision.events[-1]
    assert isinstance(started, TurnStarted)
    assert started.authority == OPERATOR


@pytest.mark.requirement("compaction.manual")
def test_on_request_a_resting_session_compacts() -> None:
    told = story()
    told.when(Compact(actor="me"))
    assert phase_of(told) is Phase.COMPACTING
    assert told.when(Compact(actor="me")).effects == ()
    notes(told)
    assert told.events()[-1] == like(Compacted, trigger="manual", kept_messages=6)


@pytest.mark.requirement("compaction.manual")
def test_on_request_a_busy_session_compacts_after_its_turn() -> None:
    told = story()
    told.admit("work")
    told.when(Compact(actor="me"))
    assert phase_of(told) is Phase.PROCESSING
    told.answer()
    assert phase_of(told) is Phase.COMPACTING
    assert run_of(told).trigger is Trigger.MANUAL
    assert not told.runtime.is_compaction_wanted
    notes(told)
    told.admit("next")
    told.answer()
    assert phase_of(told) is Phase.READY


@pytest.mark.requirement("compaction.manual")
def test_on_request_with_nothing_to_shorten_it_is_said() -> None:
    told = story(turns=1)
    decision = told.when(Compact(actor="me"))
    assert phase_of(told) is Phase.READY
    assert decision.outputs == (
        NoticeOutput(sentence=sentences.NOTHING_TO_COMPACT, kind="compaction"),
    )


@pytest.mark.requirement("compaction.manual")
def test_on_request_a_session_that_winds_down_comes_back() -> None:
    told = story()
    told.fire(TimerKind.IDLE)
    assert phase_of(told) is Phase.PASSIVATING
    told.when(Compact(actor="me"))
    assert phase_of(told) is Phase.COMPACTING
    assert not told.runtime.grace_token


@pytest.mark.requirement("compaction.manual")
def test_on_request_a_draining_session_does_nothing() -> None:
    told = story()
    told.drain()
    assert told.when(Compact(actor="me")).effects == ()


def hopeless() -> Story:
    """A session at rest whose last answer alone passes the window."""
    told = story(turns=0)
    told.admit("q")
    size = RequestSize(message_characters=14_000)
    told.when(replace(told.answered("x" * 20_000), usage=FULL, request_size=size))
    assert phase_of(told) is Phase.COMPACTING
    return told


@pytest.mark.requirement("compaction.abandon")
def test_notes_alone_may_stand_for_everything() -> None:
    told = hopeless()
    notes(told)
    assert [type(item) for item in told.state.history] == [NoteMessage]
    assert told.events()[-1] == like(Compacted, kept_from_seq=0, kept_messages=0)


@pytest.mark.requirement("compaction.abandon")
def test_without_even_notes_the_history_stays_and_the_person_is_told() -> None:
    told = hopeless()
    before = told.state
    told.given(told.input("meanwhile"))
    decision = told.when(FailNotes(token=run_of(told).token, sentence="Down."))
    assert isinstance(decision.events[0], TurnStarted)
    assert decision.outputs[0] == like(ErrorOutput, sentence=sentences.COMPACTION_ABANDONED)
    assert not decision.needs_snapshot
    assert told.state.history[: len(before.history)] == before.history
    assert phase_of(told) is Phase.PROCESSING


@pytest.mark.requirement("core.late-results")
def test_notes_of_an_older_compaction_are_dropped() -> None:
    told = compacting()
    for late in (FinishNotes, FailNotes):
        fields = {"text": "t"} if late is FinishNotes else {"sentence": "s"}
        assert told.when(late(token="old", **fields)).events == ()  # type: ignore[arg-type]
    token = run_of(told).token
    notes(told)
    assert told.when(FinishNotes(token=token, text="again")).events == ()
    assert told.when(FailNotes(token=token, sentence="again")).events == ()


@pytest.mark.requirement("compaction.estimate")
def test_an_unreported_call_is_estimated() -> None:
    told = story(turns=4)
    told.admit("q")
    size = RequestSize(static_characters=1000, message_characters=13_000)
    told.when(replace(told.answered("a"), usage=Usage(), request_size=size))
    assert told.state.last_input_tokens == 3500
    assert told.state.meter.static_characters == 1000
    assert phase_of(told) is Phase.COMPACTING


@pytest.mark.requirement("compaction.estimate")
def test_calls_that_were_asked_again_do_not_count_twice() -> None:
    told = story()
    told.admit("q")
    told.when(replace(told.answered(""), usage=Usage(input_tokens=2000)))
    told.when(replace(told.answered(calls=(SHELL,)), usage=Usage(input_tokens=2000)))
    assert told.state.last_input_tokens == 2000
