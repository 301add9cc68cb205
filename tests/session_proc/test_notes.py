"""The notes call of a compaction: who is asked, for how long, and what if nobody answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from netclaw.core.session.events import Compacted
from netclaw.core.settings import SessionSettings, TurnTimeouts
from tests.fakes.model import FakeModel, Outcome
from tests.session_proc.conftest import Start, model_settings
from tests.session_proc.host import ScriptedHost


@pytest.fixture
async def scribe() -> AsyncIterator[FakeModel]:
    """The provider of the Compaction model."""
    async with FakeModel(default="[[reply:the notes]]") as fake:
        fake.rule("<transcript>", "[[reply:the notes]]")
        yield fake


@pytest.fixture
def settings(model: FakeModel, scribe: FakeModel) -> SessionSettings:
    """Main, Compaction and Fallback, each with a provider of its own but the last."""
    model.rule("<transcript>", "[[reply:notes of the fallback]]")
    return SessionSettings(
        main_model=model_settings(model.url),
        compaction_model=model_settings(scribe.url),
        fallback_model=model_settings(model.url),
    )


async def talk(host: ScriptedHost) -> None:
    """Four turns, of which a compaction drops one."""
    for number in range(4):
        host.admit(f"question {number} [[reply:answer {number}]]")
        await host.turn_completed(number + 1)


async def compact(host: ScriptedHost, start: Start) -> Compacted:
    """Some turns, then a compaction on request; its event."""
    start()
    await talk(host)
    host.command("compact")
    return await recorded(host)


async def recorded(host: ScriptedHost) -> Compacted:
    """Wait for the compaction's record."""
    await host.until(lambda seen: bool(seen.of_type("compaction")))
    await host.until(lambda seen: seen.phases[-1] == "ready")
    (event,) = (item for item in host.journal.events() if isinstance(item, Compacted))
    return event


@pytest.mark.requirement("compaction.notes")
async def test_the_compaction_model_is_asked_alone_and_without_tools(
    host: ScriptedHost, start: Start, model: FakeModel, scribe: FakeModel
) -> None:
    event = await compact(host, start)
    assert event.notes.endswith("the notes")
    (request,) = scribe.requests
    assert "tools" not in request.body
    assert [message["role"] for message in request.messages] == ["system", "user"]
    assert "question 0" in request.messages[1]["content"]
    assert model.request_count == 4


@pytest.mark.requirement("compaction.notes")
@pytest.mark.parametrize("fault", ["[[status:400]]", "[[cut:1]]x", "[[finish:content_filter]]"])
async def test_the_fallback_is_asked_when_the_compaction_model_fails(
    host: ScriptedHost, start: Start, scribe: FakeModel, fault: str
) -> None:
    scribe.enqueue(fault)
    event = await compact(host, start)
    assert event.notes.endswith("notes of the fallback")
    assert not host.seen.of_type("notice")


@pytest.mark.requirement("compaction.notes")
async def test_models_that_all_fail_leave_the_cut(
    host: ScriptedHost, start: Start, model: FakeModel, scribe: FakeModel
) -> None:
    start()
    await talk(host)
    for provider in (scribe, model):
        provider.enqueue("[[status:400]]")
    host.command("compact")
    event = await recorded(host)
    assert "no notes" in event.notes
    (notice,) = host.seen.of_type("notice")
    assert "without notes" in notice.text


@pytest.mark.requirement("compaction.notes")
async def test_the_call_ends_after_the_sidecar_timeout(
    host: ScriptedHost, start: Start, scribe: FakeModel
) -> None:
    host.settings = replace(
        host.settings, timeouts=TurnTimeouts(sidecar_s=1.5), fallback_model=None
    )
    scribe.enqueue("[[gate:never]][[reply:late]]")
    event = await compact(host, start)
    assert "no notes" in event.notes
    (notice,) = host.seen.of_type("notice")
    assert "1.5 s" in notice.text
    await scribe.wait_for_outcome(Outcome.DISCONNECTED)


@pytest.mark.requirement("compaction.stops")
async def test_a_drain_whose_budget_ends_drops_the_call(
    host: ScriptedHost, start: Start, scribe: FakeModel
) -> None:
    scribe.enqueue("[[gate:never]][[reply:late]]")
    task = start()
    await talk(host)
    host.command("compact")
    await scribe.gates.wait_for_arrival("never")
    host.command("drain", budget_s=1.2)
    async with asyncio.timeout(10):
        await asyncio.shield(task)
    assert host.journal.names()[-2:] == ["Compacted", "Passivated"]
    await scribe.wait_for_outcome(Outcome.DISCONNECTED)


@pytest.mark.requirement("compaction.record")
async def test_the_record_carries_its_snapshot(host: ScriptedHost, start: Start) -> None:
    await compact(host, start)
    (append,) = (item for item in host.seen.appends if item.events[0].type == "Compacted")
    assert append.HasField("snapshot")
    assert append.snapshot.mandatory


@pytest.mark.requirement("compaction.estimate")
async def test_requests_are_measured(host: ScriptedHost, start: Start) -> None:
    start()
    host.admit("hello [[reply:hi]]")
    await host.turn_completed()
    event = host.journal.events()[-1]
    size = getattr(event, "request_size", None)
    assert size is not None
    assert size.static_characters > 100
    assert size.message_characters > len("hello [[reply:hi]]")
