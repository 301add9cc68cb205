"""Where the block of a turn stands, and which part of a request stays as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.context.working_context import WorkingContext
from netclaw.core.errors import ErrorCategory
from netclaw.core.messages import (
    AssistantMessage,
    MediaRef,
    Message,
    NoteMessage,
    UserMessage,
)
from netclaw.core.session.commands import Advance, FinishTool
from netclaw.core.session.effects import CallModel
from netclaw.core.session.events import (
    Compacted,
    InputJoined,
    ResetReason,
    SessionReset,
    ToolResultRecorded,
    TurnFailed,
    TurnStarted,
    WorkingDirectorySet,
)
from netclaw.core.session.outputs import ErrorOutput
from netclaw.core.session.request import Conversation, build_conversation
from netclaw.core.settings import ModelSettings, ProviderType, SessionSettings
from netclaw.core.tool_call import FileActivity, FileOperation, ToolReceipt
from netclaw.testing.matchers import containing, like
from netclaw.testing.people import ALICE
from netclaw.testing.story import Story

BLOCK = "[current-time]\nnow"
MODEL = ModelSettings(
    provider="p", provider_type=ProviderType.OPENAI, endpoint="", model_id="m", context_window=9000
)
PICTURE = MediaRef(upload_id="u", media_type="image/png", size_bytes=9, name="a.png")


def begun(settings: SessionSettings | None = None) -> Story:
    story = Story(settings=settings)
    story.start()
    return story


def told(story: Story, block: str = BLOCK) -> Conversation:
    return build_conversation(story.state, story.runtime, turn_block=block)


def place_of(conversation: Conversation) -> int:
    places = [
        index
        for index, item in enumerate(conversation.messages)
        if isinstance(item, NoteMessage) and item.text == BLOCK
    ]
    (place,) = places
    return place


def stable(conversation: Conversation) -> tuple[Message, ...]:
    return conversation.messages[: conversation.stable_ends[-1]] if conversation.stable_ends else ()


@pytest.mark.requirement("context.turn-block")
def test_the_block_stands_before_the_first_message_of_the_turn_in_every_round() -> None:
    story = begun()
    story.admit("one")
    assert told(story) == Conversation(
        messages=(like(NoteMessage, text=BLOCK), like(UserMessage, text="one"))
    )
    story.answer()
    story.admit("two")
    first = told(story)
    assert (place_of(first), first.stable_ends) == (2, (2,))
    story.call_tools(2)
    story.admit("and")
    story.finish_tools()
    later = told(story)
    assert later.messages[: len(first.messages)] == first.messages
    assert later.stable_ends == first.stable_ends
    story.answer()
    story.admit("three")
    third = told(story)
    assert third.stable_ends == (2, 2 + 1 + 3 + 1 + 1)
    assert stable(third)[:2] == stable(first)


@pytest.mark.requirement("context.turn-block")
def test_without_a_block_or_a_turn_nothing_is_put_in() -> None:
    story = begun()
    story.admit("one")
    assert told(story, "").messages == story.messages
    story.answer()
    assert told(story).messages[-1] == like(NoteMessage, text=BLOCK)


@pytest.mark.requirement("context.turn-block")
def test_a_nudge_comes_last_and_is_not_stable() -> None:
    story = begun()
    story.admit("one")
    story.answer("")
    conversation = told(story)
    assert len(conversation.messages) == 3
    assert conversation.messages[-1] == like(NoteMessage, text=story.runtime.nudge)
    assert stable(conversation) == ()


@pytest.mark.requirement("context.prefix")
def test_a_failed_turn_and_a_person_who_waited_keep_the_prefix() -> None:
    story = begun()
    story.admit("one", by=ALICE)
    story.call_tools()
    story.admit("mine")
    story.finish_tools()
    story.when(story.failed())
    conversation = told(story)
    assert conversation.messages[-1] == like(UserMessage, text="mine")
    assert place_of(conversation) == len(conversation.messages) - 2
    assert conversation.messages[-3] == like(NoteMessage, text=containing("ended without"))


@pytest.mark.requirement("context.prefix")
@given(st.lists(st.sampled_from(["answer", "tools", "fail", "join", "stop"]), max_size=12))
def test_a_stable_end_is_never_inside_a_call_and_stays_the_beginning(acts: list[str]) -> None:
    story = begun()
    before: tuple[Message, ...] = ()
    for number, act in enumerate(acts):
        if story.state.turn is None:
            story.admit(f"m{number}")
        match act:
            case "answer":
                story.answer()
            case "tools":
                story.call_tools(2)
                story.finish_tools()
            case "join":
                story.call_tools()
                story.admit("more")
                story.finish_tools()
            case "fail":
                story.when(story.failed())
            case _:
                story.admit("/stop")
        if story.state.turn is None:
            story.admit("next")
        conversation = told(story)
        begin = stable(conversation)
        assert begin[: len(before)] == before
        assert not begin or not (isinstance(begin[-1], AssistantMessage) and begin[-1].calls)
        before = begin


@pytest.mark.requirement("context.recent-files")
def test_receipts_make_the_recent_files_and_a_turn_keeps_those_it_began_with() -> None:
    story = begun()
    story.admit("look")
    story.call_tools()
    story.when(_touching(story, "/p/a"))
    assert story.state.recent_files == ("/p/a",)
    assert story.state.turn is not None
    assert story.state.turn.working == WorkingContext()
    story.answer()
    story.given(_compaction())
    story.admit("again")
    assert story.state.turn is not None
    assert story.state.turn.working == WorkingContext(recent_files=("/p/a",))
    story.answer()
    story.given(SessionReset(reason=ResetReason.OPERATOR, life=2))
    assert not story.state.recent_files


@pytest.mark.requirement("context.set-working-directory")
def test_a_declaration_is_recorded_with_the_result_once() -> None:
    story = begun()
    story.admit("work")
    story.call_tools()
    decision = story.when(_touching(story, declared="/p"))
    assert decision.events[:2] == (
        like(ToolResultRecorded),
        like(WorkingDirectorySet, path="/p", actor="shell_execute"),
    )
    story.call_tools()
    decision = story.when(_touching(story, declared="/p"))
    assert [type(event) for event in decision.events] == [ToolResultRecorded]
    story.answer()
    story.admit("next")
    assert story.state.turn is not None
    assert story.state.turn.working.directory == "/p"


def _touching(story: Story, *paths: str, declared: str | None = None) -> FinishTool:
    ended = story.tool_ended()
    receipt = ToolReceipt(
        category=ended.result.receipt.category,
        file_activity=tuple(
            FileActivity(path=path, operation=FileOperation.READ) for path in paths
        ),
        declared_directory=declared,
    )
    return replace(ended, result=replace(ended.result, receipt=receipt))


def _compaction() -> Compacted:
    return Compacted(
        kept_from_seq=0, notes="notes", tokens_before=9, tokens_after=1, trigger="manual"
    )


@pytest.mark.requirement("context.modality-call")
def test_what_the_present_model_cannot_take_ends_its_turn_without_a_call() -> None:
    story = begun(SessionSettings(main_model=MODEL))
    story.given(replace(story.input("look"), media=(PICTURE,)), story.input("next"))
    decision = story.when(Advance())
    assert decision.events == (
        like(TurnStarted, input_ids=("i1",)),
        like(TurnFailed, input_ids=("i1",), category=ErrorCategory.INPUT_COMPATIBILITY),
        like(TurnStarted, input_ids=("i2",)),
    )
    assert decision.early == (like(CallModel, turn_id=decision.events[2].turn_id),)  # type: ignore[union-attr]
    assert decision.outputs[0] == like(ErrorOutput, input_ids=("i1",))
    assert story.answer().events != ()


@pytest.mark.requirement("context.modality-call")
def test_a_full_buffer_that_the_model_cannot_take_is_refused_in_one_decision() -> None:
    story = begun(SessionSettings(main_model=MODEL))
    story.given(*(replace(story.input("x"), media=(PICTURE,)) for _ in range(200)))
    assert len(story.when(Advance()).events) == 400


@pytest.mark.requirement("context.modality-call")
def test_what_the_model_cannot_take_joins_no_turn() -> None:
    story = begun(SessionSettings(main_model=MODEL))
    story.admit("work")
    story.call_tools()
    story.given(replace(story.input("see"), media=(PICTURE,)), story.input("later"))
    decision = story.finish_tools()
    assert not any(isinstance(event, InputJoined) for event in decision.events)
    assert like(TurnFailed, input_ids=("i2",)) in story.answer().events


@pytest.mark.requirement("context.modality-call")
def test_a_model_that_sees_is_asked() -> None:
    seeing = replace(MODEL, input_modalities=("text", "image"))
    story = begun(SessionSettings(main_model=seeing))
    story.given(replace(story.input("look"), media=(PICTURE,)))
    assert story.when(Advance()).early == (like(CallModel),)
