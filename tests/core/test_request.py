"""The messages of a model call are a valid conversation whatever the history holds."""

from __future__ import annotations

import pytest

from netclaw.core.ids import CallId, InputId
from netclaw.core.messages import AssistantMessage, NoteMessage, ToolMessage, UserMessage
from netclaw.core.session import sentences
from netclaw.core.session.request import build_messages, paired
from netclaw.core.session.state import Runtime, SessionState
from netclaw.core.tool_call import ToolCall
from netclaw.testing.matchers import like

USER = UserMessage(input_id=InputId("i"), text="hi", at=1)


def asking(*call_ids: str, thinking: str = "") -> AssistantMessage:
    calls = tuple(
        ToolCall(call_id=CallId(item), provider_call_id="p", name="n", arguments="{}")
        for item in call_ids
    )
    return AssistantMessage(text="", at=2, turn_id="t", calls=calls, thinking=thinking)


def result(call_id: str, text: str = "r") -> ToolMessage:
    return ToolMessage(call_id=CallId(call_id), text=text, at=3)


@pytest.mark.requirement("core.request-pairs")
def test_results_stand_in_the_order_of_their_calls() -> None:
    history = (USER, asking("a", "b"), result("b"), result("a"))
    assert paired(history) == (USER, asking("a", "b"), result("a"), result("b"))


@pytest.mark.requirement("core.request-pairs")
def test_a_call_without_a_result_gets_one() -> None:
    missing = like(ToolMessage, call_id="b", text=sentences.CALL_MISSING)
    assert paired((asking("a", "b"), result("a"), USER)) == (
        asking("a", "b"),
        result("a"),
        missing,
        USER,
    )
    assert paired((asking("b"),)) == (asking("b"), missing)


@pytest.mark.requirement("core.request-pairs")
def test_a_result_without_its_call_and_a_second_result_are_left_out() -> None:
    history = (result("x"), asking("a"), result("a"), result("a", "again"), result("x"), USER)
    assert paired(history) == (asking("a"), result("a"), USER)


@pytest.mark.requirement("core.request-thinking")
def test_thinking_is_never_sent_back() -> None:
    assert paired((asking("a", thinking="hm"), result("a"))) == (asking("a"), result("a"))


def test_notes_stay_where_they_are_and_the_nudge_comes_last() -> None:
    note = NoteMessage(text="n", at=4)
    state = SessionState(history=(USER, note), last_activity_at=9)
    assert build_messages(state, Runtime()) == (USER, note)
    nudged = build_messages(state, Runtime(nudge="again"))
    assert nudged == (USER, note, NoteMessage(text="again", at=9))
