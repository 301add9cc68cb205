"""Limits of model and tool calls, with short settings and a provider that misbehaves."""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import replace

import pytest

from netclaw.core.session.events import ToolResultRecorded, TurnFailed
from netclaw.core.settings import SessionSettings, TurnTimeouts
from netclaw.ports.model import TextDelta
from netclaw.session_proc.call_watch import CallWatch
from tests.fakes.model import FakeModel, Outcome
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost
from tests.session_proc.tools import ScriptedTools

SHORT_S = 1.2
"""Ends what stalls for ever; the healthy call beside it has to be done within it."""
LONG_S = 30.0


@pytest.mark.requirement("session_proc.watchdogs")
@pytest.mark.parametrize(
    ("script", "limits", "setting"),
    [
        ("[[stall_headers:60]] [[reply:x]]", {"prefill_s": SHORT_S}, "PrefillTimeoutSeconds"),
        ("[[stall:60]] [[reply:x]]", {"prefill_s": SHORT_S}, "PrefillTimeoutSeconds"),
        (
            "[[tokens:20]] [[stall_after:5:60]]",
            {"token_gap_s": SHORT_S},
            "FirstTokenTimeoutSeconds",
        ),
        (
            "[[stall:60]] [[keepalive:0.03]] [[reply:x]]",
            {"no_progress_s": SHORT_S},
            "NoProgressTimeoutSeconds",
        ),
        (
            "[[think_tokens:1000]] [[pace:10]] [[reply:x]]",
            {"no_progress_s": SHORT_S / 3},
            "NoProgressTimeoutSeconds (thinking only)",
        ),
    ],
)
@pytest.mark.requirement("upstream.half-open")
async def test_a_stalled_model_call_fails_the_turn_and_the_session_goes_on(
    host: ScriptedHost,
    start: Start,
    settings: SessionSettings,
    model: FakeModel,
    script: str,
    limits: dict[str, float],
    setting: str,
) -> None:
    patient = TurnTimeouts(prefill_s=LONG_S, token_gap_s=LONG_S, no_progress_s=LONG_S)
    host.settings = replace(settings, timeouts=replace(patient, **limits))
    start()
    host.admit(script)
    await host.turn_completed()
    failed = host.journal.events()[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.category == "Timeout"
    assert setting in failed.note
    host.admit("[[reply:works again]]")
    await host.turn_completed(2)
    assert host.seen.text("text").endswith("works again")
    await model.wait_for_outcome(Outcome.DISCONNECTED)


@pytest.mark.requirement("session_proc.watchdogs")
async def test_a_slow_but_talking_model_is_left_alone(
    host: ScriptedHost, start: Start, settings: SessionSettings
) -> None:
    host.settings = replace(
        settings,
        timeouts=TurnTimeouts(prefill_s=SHORT_S, token_gap_s=SHORT_S, no_progress_s=SHORT_S),
    )
    start()
    host.admit("[[tokens:60]] [[pace:20]]")
    await host.turn_completed()
    assert host.seen.of_type("error") == []


@pytest.mark.requirement("upstream.long-prefill")
@pytest.mark.requirement("session_proc.watchdogs")
async def test_a_call_that_waits_long_and_says_so_is_answered(
    host: ScriptedHost, start: Start, settings: SessionSettings
) -> None:
    host.settings = replace(
        settings, timeouts=TurnTimeouts(prefill_s=SHORT_S, no_progress_s=LONG_S)
    )
    start()
    host.admit("[[stall:2.4]] [[keepalive:0.05]] [[reply:after a long queue]]")
    await host.turn_completed()
    assert host.seen.of_type("error") == []
    assert host.seen.text("text") == "after a long queue"


@pytest.mark.requirement("session_proc.watchdogs")
async def test_a_silent_tool_is_ended_with_a_timeout_receipt(
    host: ScriptedHost, start: Start, settings: SessionSettings, tools: ScriptedTools
) -> None:
    host.settings = replace(settings, timeouts=TurnTimeouts(tool_execution_s=SHORT_S))
    start()
    host.admit('[[tool:wait {"key":"w"}]] [[tool:say {"key":"s"}]] [[results]]')
    await host.turn_completed()
    results = {
        event.result.text[:7]: event.result.receipt.category
        for event in host.journal.events()
        if isinstance(event, ToolResultRecorded)
    }
    assert results == {"Timeout": "Timeout", "done s": "Success"}
    assert "Session.ToolExecutionTimeoutSeconds" in host.seen.text("text")
    assert tools.ended["w"] == 1


@pytest.mark.requirement("session_proc.watchdogs")
async def test_each_item_of_a_tool_resets_its_clock(
    host: ScriptedHost, start: Start, settings: SessionSettings
) -> None:
    host.settings = replace(settings, timeouts=TurnTimeouts(tool_execution_s=1.5))
    start()
    host.admit('[[tool:drip {"key":"d","times":40}]] [[results]]')
    await host.turn_completed()
    assert host.seen.text("text") == "results: done d"


def hold_up() -> None:
    """Keep the loop from turning for longer than the limit."""
    time.sleep(0.1)


@pytest.mark.requirement("session_proc.watchdogs")
async def test_what_came_while_the_loop_was_held_up_is_heard_before_a_peer_is_judged() -> None:
    loop = asyncio.get_running_loop()
    expired: list[str] = []
    watch = CallWatch(TurnTimeouts(prefill_s=0.05), on_expired=lambda: expired.append("prefill"))
    near, far = socket.socketpair()
    with near, far:
        # As a connection does: its bytes are read at once, who waits for them goes on after that.
        loop.add_reader(
            near, lambda: loop.call_soon(watch.saw, TextDelta(text=near.recv(9).decode()))
        )
        far.send(b"an answer")
        hold_up()
        for _ in range(5):
            await asyncio.sleep(0)
        loop.remove_reader(near)
    assert expired == []
    watch.stop()


@pytest.mark.requirement("session_proc.watchdogs")
async def test_a_peer_that_said_nothing_while_the_loop_was_held_up_is_too_late() -> None:
    late = asyncio.Event()
    CallWatch(TurnTimeouts(prefill_s=0.05), on_expired=late.set)
    hold_up()
    await late.wait()
