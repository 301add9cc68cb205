"""Titles beside the turns of a session: who is asked, for how long, and what never waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from netclaw.core.exit_codes import ExitCode
from netclaw.core.messages import Usage
from netclaw.core.session.events import Compacted, TitleSet, TurnRecorded
from netclaw.core.settings import SessionSettings, SessionTuning, TurnTimeouts
from tests.fakes.model import FakeModel, Outcome
from tests.session_proc.conftest import Start, model_settings
from tests.session_proc.host import ScriptedHost

HELD = "[[gate:title]][[reply:A late title]]"


@pytest.fixture
async def scribe() -> AsyncIterator[FakeModel]:
    """The provider of the Compaction model."""
    async with FakeModel(title="[[reply:By the scribe]]") as fake:
        fake.rule("<transcript>", "[[usage:700,40]][[reply:the notes]]")
        yield fake


async def turn(host: ScriptedHost, number: int = 1) -> None:
    """One more turn, the `number`-th."""
    host.admit(f"question {number} [[reply:answer {number}]]")
    await host.turn_completed(number)


def titles_of(host: ScriptedHost) -> list[TitleSet]:
    """The titles in the journal."""
    return [item for item in host.journal.events() if isinstance(item, TitleSet)]


@pytest.mark.requirement("sidecars.title-record")
@pytest.mark.requirement("sidecars.usage")
async def test_the_first_turn_gets_a_title_from_a_call_of_its_own(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    model.enqueue_titles("[[usage:60,4]][[reply:The first question]]")
    start()
    await turn(host)
    await host.until(lambda seen: bool(seen.of_type("title")))
    (output,) = host.seen.of_type("title")
    assert output.text == "The first question"
    spent = Usage(input_tokens=60, output_tokens=4)
    title = TitleSet(title="The first question", actor="model", usage=spent, model="fake-model")
    assert titles_of(host) == [title]
    (recorded,) = (item for item in host.journal.events() if isinstance(item, TurnRecorded))
    assert recorded.usage == Usage(input_tokens=11, output_tokens=7)
    (request,) = model.title_requests
    assert [message["role"] for message in request.messages] == ["system", "user"]
    assert "question 1" in request.messages[1]["content"]
    assert "tools" not in request.body
    assert model.request_count == 1


@pytest.mark.requirement("sidecars.prefix")
async def test_a_title_changes_nothing_of_what_the_next_turn_sends(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    model.title = replace(model.title, text="Hippopotamus")
    start()
    await turn(host)
    await host.until(lambda seen: bool(seen.of_type("title")))
    await turn(host, 2)
    first, second = model.requests
    assert second.messages[0] == first.messages[0]
    assert b"Hippopotamus" not in second.raw


@pytest.mark.requirement("sidecars.title-beside")
async def test_turns_compaction_and_drain_pass_by_a_title_that_hangs(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    model.rule("<transcript>", "[[reply:the notes]]")
    model.enqueue_titles(HELD)
    task = start()
    await turn(host)
    await model.gates.wait_for_arrival("title")
    for number in (2, 3, 4):
        await turn(host, number)
    host.command("compact")
    await host.until(lambda seen: bool(seen.of_type("compaction")))
    host.command("drain", budget_s=20.0)
    async with asyncio.timeout(15):
        assert await asyncio.shield(task) is ExitCode.PASSIVATED
    assert titles_of(host) == []
    await model.wait_for_outcome(Outcome.DISCONNECTED, of_titles=True)


@pytest.mark.requirement("sidecars.title-beside")
async def test_an_idle_session_passivates_in_spite_of_a_title_that_hangs_and_loses_no_input(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    tuning = SessionTuning(idle_s=0.05, passivation_grace_s=0.05)
    host.settings = replace(host.settings, tuning=tuning)
    model.enqueue_titles(HELD)
    task = start()
    await turn(host)
    async with asyncio.timeout(10):
        assert await asyncio.shield(task) is ExitCode.PASSIVATED
    await model.wait_for_outcome(Outcome.DISCONNECTED, of_titles=True)
    model.enqueue_titles("[[reply:The second try]]")
    host.admit("are you there? [[reply:yes]]")
    host.settings = replace(host.settings, tuning=SessionTuning())
    await host.over.wait()
    start()
    await host.turn_completed(2)
    await host.until(lambda seen: bool(seen.of_type("title")))
    assert [item.title for item in titles_of(host)] == ["The second try"]


@pytest.mark.requirement("sidecars.timeout")
async def test_a_title_call_ends_after_the_sidecar_timeout(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    host.settings = replace(
        host.settings,
        # The title that is made afterwards has no more time than this either.
        timeouts=TurnTimeouts(sidecar_s=2.5),
        tuning=SessionTuning(title_interval_turns=1),
    )
    model.enqueue_titles(HELD, "[[reply:The next one]]")
    start()
    await turn(host)
    await model.wait_for_outcome(Outcome.DISCONNECTED, of_titles=True)
    await host.settled()
    await turn(host, 2)
    await host.until(lambda seen: bool(seen.of_type("title")))
    assert [item.title for item in titles_of(host)] == ["The next one"]


@pytest.mark.requirement("sidecars.models")
async def test_the_compaction_model_makes_titles_where_there_is_one(
    host: ScriptedHost, start: Start, settings: SessionSettings, model: FakeModel, scribe: FakeModel
) -> None:
    host.settings = replace(settings, compaction_model=model_settings(scribe.url))
    start()
    await turn(host)
    await host.until(lambda seen: bool(seen.of_type("title")))
    assert [item.title for item in titles_of(host)] == ["By the scribe"]
    assert model.title_count == 0


@pytest.mark.requirement("sidecars.models")
@pytest.mark.parametrize("fault", ["[[status:400]]", "[[status:503]]", "[[cut:0]]x"])
async def test_the_fallback_makes_the_title_when_the_first_model_fails(
    host: ScriptedHost, start: Start, settings: SessionSettings, model: FakeModel,
    scribe: FakeModel, fault: str,
) -> None:  # fmt: skip
    host.settings = replace(settings, fallback_model=model_settings(scribe.url))
    model.enqueue_titles(fault)
    start()
    await turn(host)
    await host.until(lambda seen: bool(seen.of_type("title")))
    assert [item.title for item in titles_of(host)] == ["By the scribe"]


@pytest.mark.requirement("sidecars.half-open")
@pytest.mark.parametrize(
    "silence",
    [
        "[[stall_headers:30]][[reply:late]]",
        "[[stall:30]][[reply:late]]",
        "[[stall:30]][[keepalive:0.05]][[reply:late]]",
        "[[stall_after:1:30]][[reply:late on]]",
    ],
)
async def test_a_silent_model_does_not_cost_the_fallback_its_turn(
    host: ScriptedHost, start: Start, settings: SessionSettings, model: FakeModel,
    scribe: FakeModel, silence: str,
) -> None:  # fmt: skip
    host.settings = replace(
        settings,
        fallback_model=model_settings(scribe.url),
        timeouts=TurnTimeouts(sidecar_s=2.5),
    )
    model.enqueue_titles(silence)
    start()
    await turn(host)
    await host.until(lambda seen: bool(seen.of_type("title")))
    assert [item.title for item in titles_of(host)] == ["By the scribe"]
    await model.wait_for_outcome(Outcome.DISCONNECTED, of_titles=True)


@pytest.mark.requirement("sidecars.timeout")
async def test_a_model_that_writes_on_and_on_is_not_listened_to(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    model.enqueue_titles("[[tokens:5000]][[pace:1]]")
    start()
    await turn(host)
    await host.until(lambda seen: bool(seen.of_type("title")))
    (title,) = titles_of(host)
    assert title.title.startswith("t0 t1")
    assert len(title.title) <= 80
    await model.wait_for_outcome(Outcome.DISCONNECTED, of_titles=True)


@pytest.mark.requirement("sidecars.usage")
async def test_what_notes_cost_is_in_their_record(
    host: ScriptedHost, start: Start, settings: SessionSettings, scribe: FakeModel
) -> None:
    host.settings = replace(settings, compaction_model=model_settings(scribe.url))
    start()
    for number in range(1, 5):
        await turn(host, number)
    host.command("compact")
    await host.until(lambda seen: bool(seen.of_type("compaction")))
    (event,) = (item for item in host.journal.events() if isinstance(item, Compacted))
    assert event.notes_usage == Usage(input_tokens=700, output_tokens=40)
    assert event.notes_model == "fake-model"
