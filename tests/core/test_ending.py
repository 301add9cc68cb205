"""What the end of a model call means."""

from __future__ import annotations

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.messages import NoteMessage, UserMessage
from netclaw.core.session import sentences
from netclaw.core.session.commands import FinishReason
from netclaw.core.session.effects import CallModel
from netclaw.core.session.events import RoundRecorded, TurnFailed, TurnRecorded
from netclaw.core.session.outputs import TextOutput
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE
from netclaw.testing.story import SHELL, USAGE, Story


@pytest.fixture
def asked() -> Story:
    story = Story()
    story.start()
    story.admit("question", by=ALICE)
    return story


@pytest.mark.requirement("core.output-limit")
@pytest.mark.parametrize("calls", [(), (SHELL,)], ids=["text", "text and calls"])
def test_a_reply_cut_at_the_output_limit_fails_and_leaves_nothing(
    asked: Story, calls: tuple[object, ...]
) -> None:
    cut = asked.answered("half a sent", calls=calls, finish=FinishReason.LENGTH)  # type: ignore[arg-type]
    decision = asked.when(cut)
    assert decision.events == (
        like(TurnFailed, category=ErrorCategory.MODEL_BEHAVIOR, note=sentences.CUT_AT_LIMIT),
    )
    stored = repr((decision.events, decision.outputs, decision.outbox, asked.state))
    assert "half a sent" not in stored


def test_a_reply_held_back_by_a_content_filter_fails(asked: Story) -> None:
    decision = asked.when(asked.answered("bad", finish=FinishReason.CONTENT_FILTER))
    assert decision.events == (
        like(TurnFailed, category=ErrorCategory.MODEL_BEHAVIOR, note=sentences.FILTERED),
    )


@pytest.mark.requirement("core.tools-withheld")
@pytest.mark.requirement("upstream.unoffered-calls-fail")
def test_calls_to_tools_that_were_not_offered_fail_the_turn(asked: Story) -> None:
    decision = asked.when(asked.answered(calls=(SHELL,), are_tools_offered=False))
    assert decision.events == (
        like(TurnFailed, category=ErrorCategory.MODEL_BEHAVIOR, note=sentences.UNOFFERED_CALLS),
    )


def test_calls_count_as_calls_whatever_the_finish_reason_says(asked: Story) -> None:
    decision = asked.when(asked.answered(calls=(SHELL,), finish=FinishReason.STOP))
    assert decision.events[0] == like(RoundRecorded)


@pytest.mark.requirement("core.empty-reply")
@pytest.mark.requirement("upstream.empty-replies-bounded")
def test_an_empty_reply_is_asked_again_once_then_fails(asked: Story) -> None:
    decision = asked.when(asked.answered(" \n"))
    assert decision.events == ()
    assert decision.effects == (like(CallModel, token=asked.model_token, round=0),)
    assert asked.messages[-1] == like(NoteMessage, text=sentences.NUDGE_EMPTY)
    decision = asked.when(asked.answered(""))
    assert decision.events == (
        like(TurnFailed, category=ErrorCategory.MODEL_BEHAVIOR, note=sentences.EMPTY_REPLY),
    )
    assert asked.runtime.nudges == 0
    assert asked.runtime.nudge == ""


@pytest.mark.requirement("core.empty-reply")
@pytest.mark.requirement("upstream.empty-replies-bounded")
def test_a_reply_of_thinking_alone_has_a_nudge_of_its_own(asked: Story) -> None:
    asked.when(asked.answered("", thinking="let me see"))
    assert asked.messages[-1] == like(NoteMessage, text=sentences.NUDGE_THINKING)


@pytest.mark.requirement("core.empty-reply")
@pytest.mark.requirement("upstream.empty-replies-bounded")
def test_after_tool_work_an_empty_reply_is_asked_again_three_times(asked: Story) -> None:
    asked.call_tools()
    asked.finish_tools()
    for _ in range(3):
        assert asked.when(asked.answered("")).effects == (like(CallModel, round=1),)
    assert asked.when(asked.answered("")).events == (like(TurnFailed, note=sentences.EMPTY_REPLY),)


def test_the_nudge_is_never_history_and_its_cost_is_counted(asked: Story) -> None:
    asked.when(asked.answered(""))
    decision = asked.answer("at last")
    assert decision.events == (
        like(TurnRecorded, usage=USAGE.plus(USAGE), context_tokens=USAGE.input_tokens),
    )
    assert decision.outputs[0] == like(TextOutput, text="at last")
    assert [type(item) for item in asked.state.history[:-1]] == [UserMessage]


def test_a_round_after_a_nudge_starts_counting_anew(asked: Story) -> None:
    asked.when(asked.answered(""))
    decision = asked.call_tools()
    assert decision.events[0] == like(RoundRecorded, usage=USAGE.plus(USAGE))
    assert (asked.runtime.nudges, asked.runtime.nudge) == (0, "")
