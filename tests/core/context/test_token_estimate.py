"""Estimates follow what providers report."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.context.token_estimate import (
    MEDIA_CHARACTERS,
    MESSAGE_OVERHEAD,
    RequestSize,
    TokenMeter,
    characters_of,
    measure,
    message_characters,
)
from netclaw.core.ids import CallId, InputId
from netclaw.core.messages import (
    AssistantMessage,
    MediaRef,
    NoteMessage,
    ToolMessage,
    UserMessage,
)
from netclaw.core.tool_call import ToolCall, ToolDefinition


@pytest.mark.requirement("compaction.estimate")
def test_four_characters_are_a_token_until_something_is_known() -> None:
    assert TokenMeter().tokens(401) == 101
    assert TokenMeter().tokens(0) == 0


@pytest.mark.requirement("compaction.estimate")
def test_a_report_teaches_the_ratio_and_the_static_part() -> None:
    size = RequestSize(static_characters=100, message_characters=200)
    meter = TokenMeter().learned(size, 100)
    assert meter == TokenMeter(characters_per_token=3.0, static_characters=100)
    assert meter.tokens(size.total) == 100


@pytest.mark.requirement("compaction.estimate")
def test_what_was_not_reported_teaches_nothing() -> None:
    known = TokenMeter(characters_per_token=2.0, static_characters=7)
    assert known.learned(RequestSize(), 500) == known
    unreported = known.learned(RequestSize(static_characters=9, message_characters=1), 0)
    assert unreported == TokenMeter(characters_per_token=2.0, static_characters=9)


@pytest.mark.requirement("compaction.estimate")
@given(st.integers(min_value=1, max_value=10**7), st.integers(min_value=1, max_value=10**7))
def test_an_absurd_report_bends_the_ratio_only_so_far(characters: int, tokens: int) -> None:
    meter = TokenMeter().learned(RequestSize(message_characters=characters), tokens)
    assert 1.0 <= meter.characters_per_token <= 8.0


@pytest.mark.requirement("compaction.estimate")
def test_a_message_costs_what_is_sent_of_it() -> None:
    call = ToolCall(call_id=CallId("c"), provider_call_id="p", name="ab", arguments="{}")
    asking = AssistantMessage(text="abc", at=1, thinking="x" * 1000, calls=(call, call))
    assert message_characters(asking) == 3 * MESSAGE_OVERHEAD + 3 + 8
    image = MediaRef(upload_id="u", media_type="image/png", size_bytes=9, name="a")
    seen = UserMessage(input_id=InputId("i"), text="abcd", at=1, media=(image,))
    assert message_characters(seen) == MESSAGE_OVERHEAD + 4 + MEDIA_CHARACTERS
    result = ToolMessage(call_id=CallId("c"), text="r", at=1)
    note = NoteMessage(text="n", at=1)
    assert characters_of((result, note)) == 2 * (MESSAGE_OVERHEAD + 1)


@pytest.mark.requirement("compaction.estimate")
def test_a_request_is_measured_in_its_two_parts() -> None:
    tool = ToolDefinition(name="abc", description="de", parameters="{}")
    size = measure((NoteMessage(text="n", at=1),), system_prompt="system", tools=(tool, tool))
    assert size == RequestSize(static_characters=20, message_characters=MESSAGE_OVERHEAD + 1)
