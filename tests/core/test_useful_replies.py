"""After a useful reply people are told nothing more, and a failure says which kind it is."""

from __future__ import annotations

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.session import sentences
from netclaw.core.session.events import OutboxRow
from netclaw.testing.matchers import containing, like
from netclaw.testing.people import ALICE, THREAD
from netclaw.testing.story import Story


@pytest.fixture
def asked() -> Story:
    story = Story()
    story.start()
    story.admit("question", by=ALICE)
    return story


@pytest.mark.requirement("channel_symptoms.no-warning")
@pytest.mark.parametrize("empty", [0, 1, 3])
def test_a_reply_that_came_in_the_end_is_all_that_a_thread_is_told(
    asked: Story, empty: int
) -> None:
    posted = [*asked.call_tools(text="Let me look.").outbox, *asked.finish_tools().outbox]
    for _ in range(empty):
        posted += asked.when(asked.answered("")).outbox
    posted += asked.answer("useful").outbox
    assert posted == [like(OutboxRow, target=THREAD, text="useful", input_ids=("i1",))]


@pytest.mark.requirement("channel_symptoms.no-warning")
def test_a_thread_is_told_once_of_a_turn_without_an_answer_and_of_which_kind_it_is(
    asked: Story,
) -> None:
    posted = [*asked.when(asked.answered("")).outbox, *asked.when(asked.answered("")).outbox]
    category = ErrorCategory.MODEL_BEHAVIOR.value
    words = containing(sentences.EMPTY_REPLY, f"({category}, reference ")
    assert posted == [like(OutboxRow, target=THREAD, text=words, input_ids=("i1",))]
