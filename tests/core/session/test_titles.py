"""When a title is asked for, what the model sees of the conversation, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.authority import Authority
from netclaw.core.ids import DispatchToken
from netclaw.core.messages import NoteKind, NoteMessage, Usage
from netclaw.core.session import titles
from netclaw.core.session.commands import (
    FailTitle,
    FinishReason,
    FinishTitle,
    Passivate,
    StopTurn,
    TimerKind,
)
from netclaw.core.session.effects import CallTitle, Decision, Log
from netclaw.core.session.events import (
    SessionCreated,
    SessionKind,
    SessionReset,
    TitleSet,
    TurnStarted,
)
from netclaw.core.session.outputs import TitleOutput
from netclaw.core.session.phase import Phase
from netclaw.core.settings import SessionSettings, SessionTuning
from netclaw.testing.people import ALICE, BOB, OPERATOR, REMINDER, STRANGER
from netclaw.testing.story import Story
from tests.core.session.compactions import phase_of
from tests.core.session.histories import settings_of

SPENT = Usage(input_tokens=90, output_tokens=5)


def ready(*, interval: int = 10, settings: SessionSettings | None = None) -> Story:
    """A new session at rest, with a model that could make titles."""
    tuning = SessionTuning(title_interval_turns=interval)
    told = Story(settings=settings or settings_of(window=100_000, tuning=tuning))
    told.start()
    return told


def talk(told: Story, turns: int = 1, *, by: Authority = OPERATOR) -> Decision:
    """Completed turns; the last decision."""
    for number in range(turns):
        told.admit(f"question {number}", by=by)
        told.answer(f"answer {number}")
    return told.last


def asked(decision: Decision) -> list[CallTitle]:
    """The titles that a decision asks for."""
    return [item for item in decision.effects if isinstance(item, CallTitle)]


def answer(told: Story, text: str, token: DispatchToken | None = None) -> Decision:
    """The title call ends."""
    token = token or told.runtime.title_token
    assert token is not None
    return told.when(FinishTitle(token=token, text=text, usage=SPENT, model="namer"))


@pytest.mark.requirement("sidecars.title-when")
def test_the_first_completed_turn_asks_for_a_title_and_then_every_tenth() -> None:
    told = ready()
    counts = []
    for number in range(1, 23):
        if asked(talk(told)):
            counts.append(number)
            answer(told, f"Title {number}")
    assert counts == [1, 11, 21]
    assert told.state.title == "Title 21"


@pytest.mark.requirement("sidecars.title-when")
def test_a_title_that_failed_is_asked_for_again_after_as_many_turns_or_by_the_next_process() -> (
    None
):
    told = ready()
    (call,) = asked(talk(told))
    decision = told.when(FailTitle(token=call.token, sentence="It is down."))
    assert decision.events == ()
    assert decision.effects == (Log(level="info", text="no title was made: It is down."),)
    assert not asked(talk(told))
    told.crash().start()
    assert asked(talk(told))
    told.when(FailTitle(token=call.token, sentence="late"))
    assert told.runtime.title_token is not None


@pytest.mark.requirement("sidecars.title-when")
def test_only_a_persons_completed_turn_in_a_main_session_asks() -> None:
    told = ready()
    assert not asked(talk(told, by=REMINDER))
    told.admit()
    told.when(told.failed())
    assert not asked(told.last)
    told.admit()
    told.when(StopTurn(actor="me"))
    assert not asked(told.last)
    assert asked(talk(told, by=STRANGER))


@pytest.mark.requirement("sidecars.title-when")
def test_a_child_session_has_no_title() -> None:
    told = ready()
    created = told.journal[0].event
    assert isinstance(created, SessionCreated)
    told.given(replace(created, kind=SessionKind.CHILD))
    assert not asked(talk(told))


@pytest.mark.requirement("sidecars.title-when")
@pytest.mark.parametrize("settings", [SessionSettings(), None])
def test_without_a_model_or_with_an_interval_of_zero_none_is_made(
    settings: SessionSettings | None,
) -> None:
    assert not asked(talk(ready(interval=0, settings=settings), turns=3))


@pytest.mark.requirement("sidecars.title-shown")
def test_the_model_is_shown_what_was_said_and_no_tools_results_or_thoughts() -> None:
    told = ready()
    told.admit("Why is the sky blue?")
    told.call_tools(1, text="Let me look.")
    told.when(told.tool_ended(text="SECRET RESULT"))
    told.when(told.answered("Because of scattering.", thinking="SECRET THOUGHT"))
    (call,) = asked(told.last)
    (message,) = call.messages
    assert isinstance(message, NoteMessage)
    assert message.text.startswith("<conversation>\nPerson (")
    assert "Why is the sky blue?" in message.text
    assert "Let me look." in message.text
    assert "Because of scattering." in message.text
    assert "SECRET" not in message.text
    assert "shell_execute" not in message.text
    assert "<title>" not in call.system_prompt


@pytest.mark.requirement("sidecars.title-shown")
def test_the_model_is_shown_a_bounded_excerpt_that_keeps_the_beginning_and_the_newest() -> None:
    told = ready(interval=1)
    talk(told)
    answer(told, "Early title")
    for number in range(40):
        told.admit(f"{number}: " + "u" * 5_000)
        told.answer(f"{number}: " + "a" * 5_000)
        token = told.runtime.title_token
        assert token is not None
        told.when(FailTitle(token=token, sentence="no"))
    told.admit("the newest")
    told.answer("the last word")
    (call,) = asked(told.last)
    (message,) = call.messages
    assert len(message.text) < titles.EXCERPT_CHARACTERS + 200
    assert "question 0" in message.text
    assert "left out" in message.text
    assert message.text.index("the newest") < message.text.index("the last word")
    assert "<title>Early title</title>" in call.system_prompt


def test_of_a_compacted_conversation_the_notes_are_shown() -> None:
    told = ready()
    state = replace(
        told.state,
        history=(
            NoteMessage(text="The notes.", at=1, kind=NoteKind.SUMMARY),
            NoteMessage(text="[netclaw] a line", at=1),
        ),
    )
    (message,) = titles.excerpt(state)
    assert "The notes." in message.text
    assert "a line" not in message.text
    assert titles.excerpt(told.state) == ()


@pytest.mark.requirement("sidecars.title-record")
def test_the_answer_is_recorded_with_what_it_cost_and_told_to_everybody() -> None:
    told = ready()
    talk(told)
    before = told.state
    decision = answer(told, ' "The blue sky." \n and more')
    title = TitleSet(title="The blue sky", actor="model", usage=SPENT, model="namer")
    assert decision.events == (title,)
    assert decision.outputs == (TitleOutput(title="The blue sky"),)
    assert decision.effects == ()
    assert told.state == replace(
        before,
        head=before.head + 1,
        title="The blue sky",
        title_actor="model",
        title_set_at_turn=1,
    )
    assert told.state.last_input_tokens == before.last_input_tokens


@pytest.mark.requirement("sidecars.title-record")
@pytest.mark.parametrize(
    "text", ["", " \n\t", "***", "<think>never finished", "\u202e", titles.PROMPT]
)
def test_an_answer_without_a_title_changes_nothing(text: str) -> None:
    told = ready()
    talk(told)
    decision = answer(told, text)
    assert (decision.events, decision.outputs) == ((), ())
    assert told.runtime.title_token is None


@pytest.mark.requirement("sidecars.title-record")
def test_the_same_title_again_is_no_event() -> None:
    told = ready(interval=1)
    talk(told)
    answer(told, "Sky")
    talk(told)
    assert answer(told, "Sky").events == ()


@pytest.mark.requirement("sidecars.title-person")
def test_a_title_a_person_set_is_never_overwritten() -> None:
    told = ready(interval=1)
    (call,) = asked(talk(told))
    told.given(TitleSet(title="Mine", actor="operator"))
    assert answer(told, "Theirs", call.token).events == ()
    assert not asked(talk(told, turns=3))
    assert told.state.title == "Mine"


@pytest.mark.requirement("sidecars.title-person")
def test_a_person_who_clears_the_title_leaves_it_to_the_model_again() -> None:
    told = ready()
    told.given(TitleSet(title="Mine", actor="operator"))
    assert not asked(talk(told, turns=3))
    told.given(TitleSet(title="", actor="operator"))
    assert asked(talk(told)), "with the next answer"
    answer(told, " ")
    assert not asked(talk(told, turns=9)), "a try that came to nothing is one"
    assert asked(talk(told))
    answer(told, "Theirs")
    assert told.state.title == "Theirs"


@pytest.mark.requirement("sidecars.title-late")
def test_late_answers_are_dropped_by_their_token() -> None:
    told = ready(interval=1)
    (call,) = asked(talk(told))
    assert answer(told, "Wrong", DispatchToken("other")).events == ()
    answer(told, "Right")
    assert answer(told, "Again", call.token).events == ()
    told.when(FailTitle(token=call.token, sentence="late"))
    assert told.state.title == "Right"
    talk(told)
    told.crash().start()
    assert answer(told, "Of the process before", DispatchToken("old")).events == ()


@pytest.mark.requirement("sidecars.title-late")
def test_a_reset_forgets_the_title_and_the_next_life_gets_its_own() -> None:
    told = ready()
    talk(told, turns=3)
    answer(told, "Old life")
    told.given(SessionReset(reason="operator", life=2))  # type: ignore[arg-type]
    told.crash().start()
    assert told.state.title == ""
    assert asked(talk(told))


@pytest.mark.requirement("sidecars.title-beside")
def test_one_call_at_a_time_and_no_turn_waits_for_it() -> None:
    told = ready(interval=1)
    told.admit("one", by=ALICE)
    told.given(told.input("two", by=BOB))
    told.answer()
    assert asked(told.last)
    assert isinstance(told.last.events[-1], TurnStarted)
    assert phase_of(told) is Phase.PROCESSING
    told.answer()
    assert not asked(told.last), "a second call while the first one runs"
    told.admit("three")
    token = told.runtime.model_token
    decision = answer(told, "In the middle of a turn")
    assert [type(item) for item in decision.events] == [TitleSet]
    assert told.runtime.model_token == token
    told.answer()
    assert phase_of(told) is Phase.READY


@pytest.mark.requirement("sidecars.title-beside")
def test_it_touches_neither_the_idle_timer_nor_the_end_of_the_session() -> None:
    told = ready()
    (call,) = asked(talk(told))
    idle = told.runtime.idle_token
    answer(told, "Quick")
    assert told.runtime.idle_token == idle
    told = ready()
    (call,) = asked(talk(told))
    told.when(Passivate(reason="operator"))
    told.fire(TimerKind.PASSIVATION_GRACE)
    assert told.state.is_passivated
    decision = answer(told, "Too late", call.token)
    assert (decision.events, decision.effects) == ((), ())


@pytest.mark.requirement("sidecars.title-beside")
def test_a_title_in_flight_loses_no_input_of_a_session_that_winds_down() -> None:
    told = ready()
    talk(told)
    told.fire(TimerKind.IDLE)
    answer(told, "In the grace period")
    assert phase_of(told) is Phase.PASSIVATING
    told.admit("still there?")
    assert phase_of(told) is Phase.PROCESSING
    told.answer()
    assert told.state.buffered == ()


@pytest.mark.requirement("sidecars.title-beside")
def test_a_session_that_drains_asks_for_none() -> None:
    told = ready()
    told.admit()
    told.drain()
    told.answer()
    assert not asked(told.last)
    assert phase_of(told) is Phase.PASSIVATING


def test_a_cut_reply_asks_for_none() -> None:
    told = ready()
    told.admit()
    told.when(told.answered("half", finish=FinishReason.LENGTH))
    assert not asked(told.last)


@pytest.mark.requirement("sidecars.title-clean")
@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("Blue sky", "Blue sky"),
        ('"Blue sky."', "Blue sky"),
        ('"Blue sky".', "Blue sky"),
        ("**Blue** sky", "Blue sky"),
        ("# Title: `Blue` sky\n\nIt is about the sky.", "Blue sky"),
        ("Title\uff1aBlue sky", "Blue sky"),
        ("<think>Hm.\nSky?</think>\n\n- Blue sky", "Blue sky"),
        ("<title>Blue sky</title>", "Blue sky"),
        ("\u00ab Ciel bleu \u00bb", "Ciel bleu"),
        ("\u300c\u9752\u3044\u7a7a\u300d", "\u9752\u3044\u7a7a"),
        ("1. Blue sky", "Blue sky"),
        ("\n\n***\nBlue sky", "Blue sky"),
        ("Blue\t  sky\x07\u202e", "Blue sky"),
        ("Half \ud800 pair", "Half \ufffd pair"),
        ("3 apples", "3 apples"),
        ("- Write the title only.\nBlue sky", "Blue sky"),
        ("word " * 40, "word " * 14 + "word\u2026"),
        ("x" * 300, "x" * 79 + "\u2026"),
    ],
)
def test_a_title_is_one_plain_bounded_line(written: str, title: str) -> None:
    assert titles.clean(written) == title


@pytest.mark.requirement("sidecars.title-clean")
@given(st.text(alphabet=st.characters(), max_size=300))
def test_whatever_a_model_writes_the_title_can_be_stored_and_shown(text: str) -> None:
    title = titles.clean(text)
    assert len(title) <= titles.MAX_CHARACTERS
    assert title == title.strip()
    assert title.isprintable()
    title.encode()
