"""A real model behind our own client: streamed, limited, overflown, left early."""

from __future__ import annotations

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.session.commands import FinishReason
from netclaw.models.pull import SMOLLM2
from netclaw.ports.model import ModelClient, ModelRequest, TextDelta
from tests.models.tools import SHELL, asking, hear, said

pytestmark = pytest.mark.timeout(180)

HELLO = "Say hello in one short sentence."


@pytest.mark.requirement("models.embedded-model")
async def test_a_real_model_streams_a_real_answer(model: ModelClient) -> None:
    heard = await hear(model, ModelRequest(messages=(said(HELLO),), max_output_tokens=48))
    finished = heard.finished
    assert len(finished.text.split()) > 2
    assert finished.text == heard.text
    assert len(heard.of(TextDelta)) > 3, "streamed, not delivered in one piece"
    assert finished.model == SMOLLM2.name
    assert finished.usage.input_tokens > 5
    assert finished.usage.output_tokens > 3


@pytest.mark.requirement("models.embedded-model")
async def test_the_output_limit_is_told(model: ModelClient) -> None:
    request = ModelRequest(messages=(said("Tell a long story of a ship."),), max_output_tokens=2)
    finished = (await hear(model, request)).finished
    assert finished.finish is FinishReason.LENGTH
    assert finished.usage.output_tokens == 2


@pytest.mark.requirement("models.context-overflow")
async def test_the_engine_itself_says_when_the_conversation_is_too_long(model: ModelClient) -> None:
    failure = (await hear(model, "word " * 2000)).failure
    assert failure.is_context_overflow, failure.detail
    assert failure.category is ErrorCategory.INPUT_COMPATIBILITY


@pytest.mark.requirement("models.embedded-model")
async def test_tools_and_a_system_prompt_are_accepted(model: ModelClient) -> None:
    request = ModelRequest(
        system_prompt="You are terse.",
        messages=(said(HELLO),),
        tools=(SHELL,),
        max_output_tokens=16,
    )
    assert (await hear(model, request)).finished.usage.output_tokens > 0


@pytest.mark.requirement("models.cancel")
async def test_an_answer_left_early_frees_the_model_for_the_next(model: ModelClient) -> None:
    stream = model.stream(asking("Write a very long story about the sea."))
    assert isinstance(await anext(stream), TextDelta)
    await stream.aclose()
    # One slot only: without the cancellation this would wait for the whole story.
    next_one = ModelRequest(messages=(said(HELLO),), max_output_tokens=4)
    assert (await hear(model, next_one)).finished.usage.output_tokens > 0
