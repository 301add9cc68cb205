"""Slash commands: what is one, who may use it, what the answering turn leaves behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Audience, Authenticity, Authority, DeliveryTarget
from netclaw.core.ids import CallId, JobId, TurnId
from netclaw.core.messages import MediaRef, UserMessage
from netclaw.core.session import sentences, slash
from netclaw.core.session.asides import TITLE_MAX_CHARACTERS
from netclaw.core.session.commands import Advance, TimerKind
from netclaw.core.session.effects import CallModel, CallNotes, StartTimer
from netclaw.core.session.events import (
    InputJoined,
    OutboxRow,
    TitleSet,
    TurnOutcome,
    TurnRecorded,
    TurnStarted,
    WorkingDirectorySet,
)
from netclaw.core.session.job_events import JobStarted
from netclaw.core.session.outputs import TextOutput, TitleOutput, TurnCompletedOutput
from netclaw.core.session.phase import Phase
from netclaw.core.session.slash import CommandName, SlashCommand
from netclaw.core.settings import ModelSettings, ProviderType, SessionSettings
from netclaw.testing.matchers import containing, like
from netclaw.testing.people import ALICE, OPERATOR, REMINDER, STRANGER, THREAD, WEBHOOK
from netclaw.testing.story import Story

MODEL = ModelSettings(
    provider="p",
    provider_type=ProviderType.OPENAI,
    endpoint="",
    model_id="big",
    context_window=1000,
)
SETTINGS = SessionSettings(main_model=MODEL)


def ready() -> Story:
    """A session at rest."""
    story = Story(settings=SETTINGS)
    story.start()
    return story


def told(story: Story) -> str:
    """What the last decision said to people."""
    return "\n".join(item.text for item in story.last.outputs if isinstance(item, TextOutput))


@pytest.mark.requirement("context.slash")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/help", SlashCommand(name=CommandName.HELP)),
        (" /STATUS \n", SlashCommand(name=CommandName.STATUS)),
        ("/title  my  trip ", SlashCommand(name=CommandName.TITLE, argument="my  trip")),
        ("/title", SlashCommand(name=CommandName.TITLE)),
        ("/title\ttea  time", SlashCommand(name=CommandName.TITLE, argument="tea  time")),
        ("/compact", SlashCommand(name=CommandName.COMPACT)),
        ("/stop", SlashCommand(name=CommandName.STOP)),
        ("/help me", None),
        ("/stop\nit", None),
        ("/title a\nb", None),
        ("/etc/passwd", None),
        ("/", None),
        ("//help", None),
        ("help", None),
        ("", None),
    ],
)
def test_only_a_whole_message_is_a_command(text: str, expected: SlashCommand | None) -> None:
    assert slash.parse(text) == expected


@pytest.mark.requirement("context.slash")
@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("//status", "/status"),
        ("  //title x", "  /title x"),
        ("// a comment", "// a comment"),
        ("//unknown", "//unknown"),
        ("///help", "///help"),
        ("/status", "/status"),
    ],
)
def test_a_second_mark_says_a_command_to_the_model_and_changes_nothing_else(
    text: str, spoken: str
) -> None:
    assert slash.spoken(text) == spoken


@pytest.mark.requirement("context.slash")
def test_a_command_is_answered_by_a_recorded_turn_without_a_model_call() -> None:
    story = ready()
    before = story.state.history
    decision = story.admit("/help", by=ALICE)
    started, recorded = decision.events
    assert started == like(TurnStarted, input_ids=("i1",), is_aside=True, authority=ALICE)
    assert recorded == like(
        TurnRecorded, input_ids=("i1",), outcome=TurnOutcome.COMPLETED, model=""
    )
    assert decision.early == ()
    assert decision.effects == (like(StartTimer, timer=TimerKind.IDLE),), "somebody was there"
    assert decision.outputs == (
        like(TextOutput, text=containing("/compact")),
        like(TurnCompletedOutput, input_ids=("i1",)),
    )
    assert decision.outbox == (like(OutboxRow, target=THREAD, text=containing("/title TEXT")),)
    assert story.runtime.phase is Phase.READY
    assert story.state.history == before
    assert (story.state.turn, story.state.buffered, story.state.turns) == (None, (), 1)


@pytest.mark.requirement("context.slash")
def test_unknown_words_and_escapes_go_to_the_model() -> None:
    story = ready()
    decision = story.admit("/dance")
    assert decision.early == (like(CallModel),)
    assert story.messages == (like(UserMessage, text="/dance"),)
    story.answer()
    story.admit("//status")
    assert story.messages[-1] == like(UserMessage, text="/status")


@pytest.mark.requirement("context.slash")
def test_commands_and_messages_keep_their_order() -> None:
    story = ready()
    story.admit("first")
    story.given(story.input("/status"), story.input("second"), story.input("/status"))
    decision = story.answer()
    assert [type(event) for event in decision.events] == [
        TurnRecorded,
        *(TurnStarted, TurnRecorded),
        TurnStarted,
    ]
    assert decision.early == (like(CallModel),)
    assert "messages waiting: 2" in told(story)
    assert story.messages[-1] == like(UserMessage, text="second")


@pytest.mark.requirement("context.slash")
def test_a_full_buffer_of_commands_is_answered_in_one_decision() -> None:
    story = ready()
    story.given(*(story.input("/help") for _ in range(200)))
    decision = story.when(Advance())
    assert len(decision.events) == 400
    assert story.state.buffered == ()


@pytest.mark.requirement("context.slash")
def test_a_command_joins_no_turn_and_what_follows_it_comes_after_it() -> None:
    story = ready()
    story.admit("work", by=ALICE)
    story.call_tools()
    story.given(story.input("more", by=ALICE), story.input("/status", by=ALICE))
    story.given(story.input("later", by=ALICE))
    decision = story.finish_tools()
    assert like(InputJoined, input_ids=("i2",)) in decision.events
    decision = story.answer()
    assert decision.events[1:] == (
        like(TurnStarted, input_ids=("i3",), is_aside=True),
        like(TurnRecorded, input_ids=("i3",)),
        like(TurnStarted, input_ids=("i4",)),
    )


@pytest.mark.requirement("context.slash")
def test_a_command_ends_no_automated_turn() -> None:
    story = ready()
    story.admit("remind", by=REMINDER)
    story.call_tools()
    story.admit("/status", by=ALICE)
    decision = story.finish_tools()
    assert decision.effects == (like(CallModel, round=1),)
    assert like(TurnStarted, is_aside=True) in story.answer().events


@pytest.mark.requirement("context.slash")
def test_status_tells_the_operator_more_than_strangers() -> None:
    story = ready()
    story.given(WorkingDirectorySet(path="/home/me/plan", actor="x"))
    story.admit("hello")
    story.answer()
    story.admit("/status")
    for part in (
        "cli/abcdefghij",
        "Turns: 1",
        "100 of 1,000 tokens (10 %)",
        "big",
        "/home/me/plan",
    ):
        assert part in told(story)
    public = replace(ALICE, requester=replace(ALICE.requester, audience=Audience.PUBLIC))
    for by in (STRANGER, public):
        story.admit("/status", by=by)
        assert "10 %" in told(story)
        assert "/home/me/plan" not in told(story)
        assert "big" not in told(story)
    job = JobStarted(
        job_id=JobId("j"),
        turn_id=TurnId("t"),
        call_id=CallId("c"),
        command="make",
        authority=OPERATOR,
        log_path="",
    )
    story.given(job)
    story.admit("/status")
    assert "Background jobs: 1; open child runs: 0" in told(story)
    bare = Story()
    bare.start()
    bare.admit("/status")
    assert "tokens" not in told(bare)


@pytest.mark.requirement("context.slash")
def test_a_title_is_set_by_hand_and_given_back_to_the_model() -> None:
    story = ready()
    decision = story.admit("/title  Tea \t trade ", by=ALICE)
    assert like(TitleSet, title="Tea trade", actor="U1") in decision.events
    assert like(TitleOutput, title="Tea trade") in decision.outputs
    assert story.state.title == "Tea trade"
    story.admit(f"/title {'x' * (TITLE_MAX_CHARACTERS + 1)}")
    assert (story.state.title, told(story)) == ("Tea trade", sentences.title_too_long(120))
    story.admit("/title")
    assert story.state.title == ""


@pytest.mark.requirement("context.slash")
def test_compact_says_whether_there_is_anything_to_shorten_and_does_it() -> None:
    story = ready()
    story.admit("/compact")
    assert told(story) == sentences.NOTHING_TO_COMPACT
    for number in range(8):
        story.admit(f"{number} " + "long " * 60)
        story.answer("answer " * 20)
    story.given(story.input("/compact"), story.input("next"))
    decision = story.when(Advance())
    assert told(story) == sentences.COMPACTING
    assert story.runtime.phase is Phase.COMPACTING
    assert like(CallNotes) in decision.effects
    assert [item.admitted.text for item in story.state.buffered] == ["next"]


@pytest.mark.requirement("context.slash-authority")
@pytest.mark.parametrize("text", ["/title x", "/compact"])
def test_an_untrusted_person_changes_nothing(text: str) -> None:
    story = ready()
    decision = story.admit(text, by=STRANGER)
    assert [type(event) for event in decision.events] == [TurnStarted, TurnRecorded]
    assert told(story) == sentences.COMMAND_REFUSED
    assert story.admit("/help", by=STRANGER).outputs[0] == like(TextOutput)
    assert "/compact" not in told(story)


@pytest.mark.requirement("context.slash-authority")
def test_a_machine_is_trusted_if_it_is_known_to_be_that_machine() -> None:
    unverified = replace(
        WEBHOOK, provenance=replace(WEBHOOK.provenance, authenticity=Authenticity.UNVERIFIED)
    )
    assert slash.may_use(CommandName.TITLE, WEBHOOK)
    assert not slash.may_use(CommandName.TITLE, unverified)


def working(by: Authority) -> Story:
    """A turn of this sender whose tool runs."""
    story = ready()
    story.admit("work", by=by)
    story.call_tools()
    story.clock.advance(1)
    return story


@pytest.mark.requirement("context.slash")
def test_with_an_attachment_it_is_a_message() -> None:
    story = ready()
    archive = MediaRef(upload_id="u", media_type="application/zip", size_bytes=1, name="a.zip")
    story.given(replace(story.input("/help"), media=(archive,)))
    assert story.when(Advance()).early == (like(CallModel),)


@pytest.mark.requirement("context.slash")
def test_an_answer_goes_where_the_command_came_from() -> None:
    target = DeliveryTarget(channel=THREAD.channel, address="C9/9")
    story = ready()
    decision = story.admit("/status", by=replace(ALICE, delivery_targets=(target,)))
    assert [row.target for row in decision.outbox] == [target]
