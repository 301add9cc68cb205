"""What follows from the death of a session process."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.exit_codes import ExitCode
from netclaw.core.messages import ToolMessage
from netclaw.core.session import sentences
from netclaw.core.session.events import CrashRecorded, DrainStopped, TurnFailed, TurnStarted
from netclaw.core.settings import SupervisionSettings
from netclaw.core.supervision import (
    CrashRecord,
    DeathCause,
    NextStep,
    Verdict,
    backoff_s,
    cause_of,
    is_crash_loop,
    is_start_held,
    judge_death,
    poison_events,
    stop_event,
)
from netclaw.testing.matchers import containing, like
from netclaw.testing.people import ALICE
from netclaw.testing.story import Story

S = SupervisionSettings()


def crash(record: CrashRecord, at_s: float, *, turn_crashes: int = 0) -> Verdict:
    return judge_death(
        record,
        DeathCause.CRASH,
        turn_crashes=turn_crashes,
        now_ms=round(at_s * 1000),
        settings=S,
    )


@pytest.mark.requirement("core.backoff")
def test_restarts_back_off_and_the_fifth_crash_in_ten_minutes_quarantines() -> None:
    record, seen = CrashRecord(), []
    for at in (0, 10, 20, 30, 40):
        verdict = crash(record, at)
        record = verdict.record
        seen.append((verdict.step, verdict.after_s))
    assert seen == [
        (NextStep.START, 0.0),
        (NextStep.START, 1.0),
        (NextStep.START, 5.0),
        (NextStep.START, 30.0),
        (NextStep.QUARANTINE, 30.0),
    ]
    assert is_crash_loop(record, S)


@pytest.mark.requirement("core.backoff")
def test_the_backoff_starts_anew_once_a_turn_ended_but_the_crashes_still_count() -> None:
    record = CrashRecord()
    steps = []
    for at in (0, 10, 20, 30, 40):
        verdict = crash(record, at)
        steps.append((verdict.step, verdict.after_s))
        record = replace(verdict.record, in_a_row=0)  # what the store counts after a turn
    assert steps[:4] == [(NextStep.START, 0.0)] * 4
    assert steps[4] == (NextStep.QUARANTINE, 0.0)


@pytest.mark.requirement("core.quarantine")
def test_crashes_older_than_the_window_are_forgotten() -> None:
    record = CrashRecord(crashes=(0, 1000, 2000, 3000), in_a_row=4)
    verdict = crash(record, 603)
    assert verdict == Verdict(
        record=CrashRecord(crashes=(603_000,), in_a_row=1), step=NextStep.START, after_s=0.0
    )
    almost = crash(record, 602.999)
    assert almost.record.crashes == (3000, 602_999)


@pytest.mark.requirement("core.no-crash")
@pytest.mark.parametrize(
    "cause", [DeathCause.ENDED, DeathCause.OPERATOR, DeathCause.STORAGE, DeathCause.SUPERVISOR]
)
def test_what_is_no_crash_counts_for_nothing(cause: DeathCause) -> None:
    record = CrashRecord(crashes=(1, 2, 3, 4), in_a_row=4)
    verdict = judge_death(record, cause, turn_crashes=3, now_ms=5, settings=S)
    assert verdict == Verdict(record=record, step=NextStep.START)


@pytest.mark.requirement("core.no-crash")
def test_a_hung_process_counts_as_a_crash() -> None:
    verdict = judge_death(CrashRecord(), DeathCause.HUNG, turn_crashes=0, now_ms=5, settings=S)
    assert verdict.record == CrashRecord(crashes=(5,), in_a_row=1)


@pytest.mark.requirement("core.no-crash")
@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (ExitCode.PASSIVATED, DeathCause.ENDED),
        (ExitCode.FENCED, DeathCause.ENDED),
        (ExitCode.STREAM_LOST, DeathCause.SUPERVISOR),
        (ExitCode.STORAGE, DeathCause.STORAGE),
        (ExitCode.INTERNAL, DeathCause.CRASH),
        (ExitCode.MEMORY, DeathCause.CRASH),
        (-9, DeathCause.CRASH),
        (1, DeathCause.CRASH),
    ],
)
def test_an_exit_status_says_what_a_death_means(status: int, cause: DeathCause) -> None:
    assert cause_of(int(status)) is cause


@pytest.mark.parametrize("code", list(ExitCode))
def test_exit_codes_and_causes_agree_on_what_a_crash_is(code: ExitCode) -> None:
    assert cause_of(code).is_crash is code.is_crash


@pytest.mark.requirement("core.poison")
@pytest.mark.parametrize(("turn_crashes", "is_poison"), [(0, False), (2, False), (3, True)])
def test_three_crashes_within_one_turn_are_poison(turn_crashes: int, is_poison: bool) -> None:
    assert crash(CrashRecord(), 0, turn_crashes=turn_crashes).is_poison is is_poison


def test_no_steps_mean_no_wait() -> None:
    assert backoff_s(7, SupervisionSettings(backoff_s=())) == 0.0


@pytest.mark.requirement("core.held-starts")
def test_a_start_in_progress_at_two_deaths_of_the_supervisor_in_a_row_is_held() -> None:
    assert [is_start_held(deaths) for deaths in (0, 1, 2, 3)] == [False, False, True, True]


@pytest.mark.requirement("core.poison")
def test_a_poison_turn_is_failed_with_its_open_calls_and_the_session_goes_on() -> None:
    story = Story()
    story.start()
    story.admit("poison", by=ALICE)
    story.call_tools()
    turn = story.state.turn
    assert turn is not None
    for attempt in (1, 2, 3):
        story.given(CrashRecorded(exit_status=-11, turn_id=turn.turn_id, attempt=attempt))
    assert story.state.turn is not None
    assert story.state.turn.crashes == 3
    story.given(story.input("next"))
    events = poison_events(story.state, "ref")
    assert events == (
        like(
            TurnFailed,
            category=ErrorCategory.INTERNAL,
            reference="ref",
            input_ids=("i1",),
            closed_call_ids=(turn.batch[0].call.call_id,),
            note=containing(sentences.MAYBE_RUN),
            is_person_told=True,
        ),
    )
    story.given(*events)
    assert [item.text for item in story.messages if isinstance(item, ToolMessage)] == [
        sentences.CALL_INTERRUPTED
    ]
    assert story.crash().start().events == (like(TurnStarted, input_ids=("i2",)),)


def test_a_poison_turn_that_launched_nothing_gets_no_warning_and_returns_late_joiners() -> None:
    story = Story()
    story.start()
    story.admit()
    assert poison_events(story.state, "ref")[0] == like(TurnFailed, note=sentences.POISON_TURN)
    story.call_tools()
    story.admit()
    story.finish_tools()
    assert poison_events(story.state, "ref")[0] == like(TurnFailed, input_ids=("i1",))
    story.given(*poison_events(story.state, "ref"))
    assert [item.admitted.input_id for item in story.state.buffered] == ["i2"]


def test_without_an_open_turn_nothing_is_poison() -> None:
    assert poison_events(Story().state, "ref") == ()


@pytest.mark.requirement("core.drain-nothing-follows")
def test_the_turn_of_a_stopped_session_without_a_process_is_failed_by_the_supervisor() -> None:
    story = Story()
    assert stop_event(story.state, "ref") is None
    story.start()
    story.admit("question", by=ALICE)
    story.call_tools()
    story.crash()
    event = stop_event(story.state, "ref")
    assert event == like(
        TurnFailed,
        category=ErrorCategory.INTERRUPTED,
        reference="ref",
        input_ids=("i1",),
        note=containing("session was stopped", sentences.MAYBE_RUN),
        is_person_told=True,
    )
    assert event is not None
    assert len(event.closed_call_ids) == 1
    story.given(event)
    assert story.state.turn is None


def test_a_person_who_was_told_of_the_stop_is_not_told_again() -> None:
    story = Story()
    story.start()
    story.admit("question", by=ALICE)
    turn = story.state.turn
    assert turn is not None
    story.given(DrainStopped(turn_id=turn.turn_id, point="", is_restart=False, is_person_told=True))
    assert stop_event(story.state, "ref") == like(TurnFailed, is_person_told=False)
