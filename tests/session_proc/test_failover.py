"""Half-open and silent connections: the main model's watchdog, then the fallback under its own."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from netclaw.core.session.events import TurnFailed, TurnRecorded
from netclaw.core.settings import SessionSettings, TurnTimeouts
from tests.fakes.model import FakeModel, Outcome
from tests.session_proc.conftest import Start, model_settings
from tests.session_proc.host import ScriptedHost

SHORT_S = 0.6
"""Ends what stays silent for ever; the fallback has to answer within it."""
PATIENT = TurnTimeouts(prefill_s=30.0, token_gap_s=30.0, no_progress_s=30.0)


@pytest.fixture
async def spare() -> AsyncIterator[FakeModel]:
    """The provider of the Fallback model, which answers whatever it is asked."""
    async with FakeModel() as fake:
        fake.rule("hello", "[[reply:from the fallback]]")
        yield fake


@pytest.fixture
def settings(model: FakeModel, spare: FakeModel) -> SessionSettings:
    """A main model that may keep silent for a moment, and a fallback."""
    return SessionSettings(
        main_model=replace(model_settings(model.url), model_id="main-model"),
        fallback_model=replace(model_settings(spare.url), model_id="spare-model"),
        timeouts=replace(PATIENT, prefill_s=SHORT_S),
    )


@pytest.fixture
def deaf_port() -> Iterator[int]:
    """A port that takes connections and never reads from one."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        yield listener.getsockname()[1]


@pytest.mark.requirement("failover.prefill")
@pytest.mark.parametrize(
    "silence",
    ["[[stall_headers:60]][[reply:late]]", "[[stall:60]][[reply:late]]"],
)
async def test_a_main_model_that_sends_nothing_is_given_up_for_the_fallback(
    host: ScriptedHost, start: Start, model: FakeModel, spare: FakeModel, silence: str
) -> None:
    model.enqueue(silence)
    start()
    host.admit("hello")
    await host.turn_completed()
    assert host.seen.text("text") == "from the fallback"
    assert host.seen.of_type("error") == []
    await model.wait_for_outcome(Outcome.DISCONNECTED)
    recorded = host.journal.events()[-1]
    assert isinstance(recorded, TurnRecorded)
    assert recorded.model == "spare-model"
    (told,) = host.seen.of_type("retry")
    assert "Session.PrefillTimeoutSeconds" in told.text
    assert "fallback" in told.text
    assert told.duration_ms == 0
    assert spare.request_count == 1


@pytest.mark.requirement("failover.prefill")
async def test_a_port_that_nobody_serves_is_given_up_for_the_fallback(
    host: ScriptedHost, start: Start, settings: SessionSettings, deaf_port: int
) -> None:
    deaf = model_settings(f"http://127.0.0.1:{deaf_port}/v1")
    host.settings = replace(settings, main_model=deaf)
    start()
    host.admit("hello")
    await host.turn_completed()
    assert host.seen.text("text") == "from the fallback"


@pytest.mark.requirement("failover.prefill")
async def test_a_main_model_that_only_keeps_the_connection_alive_is_given_up_too(
    host: ScriptedHost, start: Start, settings: SessionSettings, model: FakeModel
) -> None:
    limits = replace(PATIENT, no_progress_s=SHORT_S)
    host.settings = replace(settings, timeouts=limits)
    model.enqueue("[[stall:60]][[keepalive:0.03]][[reply:late]]")
    start()
    host.admit("hello")
    await host.turn_completed()
    assert host.seen.text("text") == "from the fallback"


@pytest.mark.requirement("failover.before-first-chunk")
@pytest.mark.parametrize("first", ["[[tokens:2]]", "[[think_tokens:2]]"])
async def test_a_main_model_that_falls_silent_after_its_first_chunk_fails_the_turn(
    host: ScriptedHost, start: Start, settings: SessionSettings, model: FakeModel,
    spare: FakeModel, first: str,
) -> None:  # fmt: skip
    limits = replace(PATIENT, token_gap_s=SHORT_S)
    host.settings = replace(settings, timeouts=limits)
    model.enqueue(f"{first}[[stall_after:1:60]]")
    start()
    host.admit("hello")
    await host.turn_completed()
    (error,) = host.seen.of_type("error")
    assert error.category == "Timeout"
    assert "Session.FirstTokenTimeoutSeconds" in error.text
    assert spare.request_count == 0


@pytest.mark.requirement("failover.both-failed")
async def test_if_both_stay_silent_the_turn_says_so_and_the_next_one_works(
    host: ScriptedHost, start: Start, model: FakeModel, spare: FakeModel
) -> None:
    for provider in (model, spare):
        provider.enqueue("[[stall_headers:60]][[reply:late]]")
    start()
    host.admit("hello")
    await host.turn_completed()
    (error,) = host.seen.of_type("error")
    assert error.category == "Timeout"
    assert error.text.count("Session.PrefillTimeoutSeconds") == 2
    assert "The fallback model failed too" in error.text
    assert isinstance(host.journal.events()[-1], TurnFailed)
    model.rule("again", "[[reply:back again]]")
    host.admit("again")
    await host.turn_completed(2)
    assert host.seen.text("text") == "back again"


@pytest.mark.requirement("failover.prefill")
async def test_each_attempt_has_the_whole_prefill_time(
    host: ScriptedHost, start: Start, settings: SessionSettings, model: FakeModel
) -> None:
    limits = replace(PATIENT, prefill_s=3.0)
    host.settings = replace(settings, fallback_model=None, timeouts=limits)
    # The pause before the second attempt alone takes about the whole limit.
    model.enqueue("[[stall_headers:1.5]][[status:503]]", "[[stall_headers:1.5]][[reply:at last]]")
    start()
    host.admit("hello")
    await host.turn_completed()
    assert host.seen.text("text") == "at last"
    (told,) = host.seen.of_type("retry")
    assert "HTTP 503" in told.text
    assert told.duration_ms > 500
