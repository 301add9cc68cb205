"""What people and the daemon do to a running session: stop, drain, passivate, ping, cut."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from netclaw.core.exit_codes import ExitCode
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.events import DrainStopped, ToolResultRecorded, TurnOutcome, TurnRecorded
from netclaw.core.settings import SessionSettings, SessionTuning
from netclaw.session_proc.main import serve
from netclaw.session_proc.session import after_drain_of
from netclaw.wire.v1.session_host_pb2 import Append, HostCommand
from tests.fakes.model import FakeModel
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost
from tests.session_proc.tools import ScriptedTools


@pytest.mark.requirement("session_proc.stop-turn")
async def test_stopping_a_model_call(host: ScriptedHost, start: Start, model: FakeModel) -> None:
    start()
    host.admit("[[gate:never]] [[reply:x]]")
    await model.gates.wait_for_arrival("never")
    host.command("stop_turn", actor="me")
    await host.turn_completed()
    ended = host.journal.events()[-1]
    assert isinstance(ended, TurnRecorded)
    assert ended.outcome is TurnOutcome.STOPPED
    assert host.seen.of_type("error") == []
    host.admit("[[reply:next]]")
    await host.turn_completed(2)


@pytest.mark.requirement("session_proc.stop-turn")
async def test_stopping_a_tool_ends_it_and_records_so(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    start()
    host.admit('[[tool:wait {"key":"w"}]] [[reply:x]]')
    await tools.until_started(1)
    host.command("stop_turn", actor="me")
    await host.turn_completed()
    results = [e for e in host.journal.events() if isinstance(e, ToolResultRecorded)]
    assert [e.result.receipt.category for e in results] == ["Cancelled"]
    assert tools.ended == {"w": 1}


@pytest.mark.requirement("session_proc.stop-turn")
async def test_stopping_a_tool_in_the_moment_it_is_launched_ends_the_turn(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    def withhold(append: Append) -> None:
        host.withhold_answers = any(e.type == "ToolBatchStarted" for e in append.events)

    host.before_append = withhold
    start()
    host.admit('[[tool:wait {"key":"w"}]] [[reply:x]]')
    await host.until(lambda _seen: host.withhold_answers)
    host.command("stop_turn", actor="me")
    await host.settled()
    host.release_answers()
    await host.turn_completed()
    results = [e for e in host.journal.events() if isinstance(e, ToolResultRecorded)]
    assert [e.result.receipt.category for e in results] == ["Cancelled"]
    assert tools.started == {}


@pytest.mark.requirement("session_proc.drain")
async def test_a_drain_stops_at_the_batch_boundary(
    host: ScriptedHost, start: Start, tools: ScriptedTools, model: FakeModel
) -> None:
    process = start()
    host.admit('[[tool:wait {"key":"w"}]] [[reply:later]]')
    await tools.until_started(1)
    host.command("drain", is_restart=True, budget_s=10.0)
    await host.settled()
    tools.gate("w").set()
    async with asyncio.timeout(15):
        assert await process is ExitCode.PASSIVATED
    stopped = [e for e in host.journal.events() if isinstance(e, DrainStopped)]
    assert [e.point for e in stopped] == ["batch-boundary"]
    assert model.request_count == 1
    await host.over.wait()
    start()
    await host.turn_completed()
    assert host.seen.text("text") == "later"
    assert tools.started == {"w": 1}


@pytest.mark.requirement("session_proc.drain")
async def test_a_drain_after_which_nothing_follows_ends_the_turn(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    process = start()
    mine = host.admit('[[tool:wait {"key":"w"}]] [[reply:never]]')
    await tools.until_started(1)
    host.command("drain", then="nothing", budget_s=10.0)
    await host.settled()
    tools.gate("w").set()
    async with asyncio.timeout(15):
        assert await process is ExitCode.PASSIVATED
    completed = host.seen.of_type("turn_completed")[0]
    assert (list(completed.input_ids), completed.outcome) == ([mine], "")
    assert host.journal.names()[-2:] == ["TurnFailed", "Passivated"]


def test_a_drain_of_an_older_supervisor_is_a_stop_or_a_restart() -> None:
    for command, then in (
        (HostCommand(then="nothing"), AfterDrain.NOTHING),
        (HostCommand(is_restart=True), AfterDrain.DAEMON_RESTART),
        (HostCommand(then="unheard-of"), AfterDrain.DAEMON_STOP),
    ):
        assert after_drain_of(command) is then


@pytest.mark.requirement("session_proc.passivation")
async def test_an_idle_session_passivates(
    host: ScriptedHost, start: Start, settings: SessionSettings
) -> None:
    host.settings = replace(settings, tuning=SessionTuning(idle_s=0.05, passivation_grace_s=0.05))
    process = start()
    async with asyncio.timeout(15):
        assert await process is ExitCode.PASSIVATED
    assert host.journal.names() == ["Passivated"]
    assert host.seen.phases == ["ready", "passivating"]


@pytest.mark.requirement("session_proc.passivation")
async def test_a_message_in_the_grace_period_is_answered(
    host: ScriptedHost, start: Start, settings: SessionSettings
) -> None:
    host.settings = replace(settings, tuning=SessionTuning(idle_s=0.05, passivation_grace_s=30))
    start()
    await host.until(lambda seen: "passivating" in seen.phases)
    host.admit("[[reply:still here]]")
    await host.turn_completed()
    assert "Passivated" not in host.journal.names()


@pytest.mark.requirement("session_proc.passivation")
async def test_a_message_that_races_passivation_wins(host: ScriptedHost, start: Start) -> None:
    def admit(append: Append) -> None:
        if any(event.type == "Passivated" for event in append.events):
            host.before_append = lambda _append: None
            host.admit("[[reply:just in time]]")

    host.before_append = admit
    process = start()
    await host.until(lambda seen: "ready" in seen.phases)
    host.command("passivate", reason="test")
    await host.turn_completed()
    assert host.seen.text("text") == "just in time"
    assert "Passivated" not in host.journal.names()
    host.command("passivate", reason="test")
    async with asyncio.timeout(15):
        assert await process is ExitCode.PASSIVATED


@pytest.mark.requirement("session_proc.ping")
@pytest.mark.requirement("upstream.own-loop")
async def test_pings_are_answered_during_a_turn(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    start()
    host.admit("[[gate:g]] [[reply:x]]")
    await model.gates.wait_for_arrival("g")
    for number in range(1, 6):
        host.ping(number)
    await host.until(lambda seen: seen.pongs == [1, 2, 3, 4, 5])
    model.gates.open("g")
    await host.turn_completed()


@pytest.mark.requirement("session_proc.ping")
@pytest.mark.requirement("upstream.own-loop")
async def test_pings_are_answered_while_an_append_is_in_flight(
    host: ScriptedHost, start: Start
) -> None:
    start()
    await host.until(lambda seen: "ready" in seen.phases)
    host.fail_append = lambda _append: None
    host.withhold_answers = True
    host.admit("[[reply:x]]")
    await host.until(lambda seen: bool(seen.appends))
    await host.settled()
    host.release_answers()
    await host.turn_completed()


@pytest.mark.requirement("session_proc.stream-lost")
async def test_a_cut_stream_ends_the_process(
    host: ScriptedHost, start: Start, model: FakeModel, tools: ScriptedTools
) -> None:
    process = start()
    host.admit('[[tool:wait {"key":"w"}]] [[reply:x]]')
    await tools.until_started(1)
    host.cut()
    async with asyncio.timeout(15):
        assert await process is ExitCode.STREAM_LOST
    assert tools.ended == {"w": 1}
    assert model.request_count == 1


@pytest.mark.requirement("session_proc.stream-lost")
async def test_no_supervisor_means_no_session(host: ScriptedHost) -> None:
    lost = replace(host.bootstrap(), host_socket=f"{host.socket}.gone")
    async with asyncio.timeout(10):
        assert await serve(lost) is ExitCode.STREAM_LOST


@pytest.mark.requirement("session_proc.fenced")
async def test_a_wrong_token_is_refused(host: ScriptedHost) -> None:
    async with asyncio.timeout(10):
        assert await serve(replace(host.bootstrap(), token="stolen")) is ExitCode.FENCED


@pytest.mark.requirement("session_proc.chunks")
async def test_frames_over_the_limit_travel_in_pieces(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    """A Welcome, a Committed and an Append of more than 4 MiB each."""
    text = "x" * (5 * 1024 * 1024)
    host.journal.admit(f"[[reply:ok]] {text}")
    start()
    await host.turn_completed()
    host.admit(f"[[big:3000000]] {text}")
    await host.turn_completed(2)
    assert len(host.seen.of_type("text")[-1].text) == 3_000_000
    # Once in the event and once in the output beside it.
    assert host.seen.appends[-1].ByteSize() > 4 * 1024 * 1024
    assert model.request_count == 2


async def test_unknown_frames_and_commands_are_passed_over(
    host: ScriptedHost, start: Start
) -> None:
    start()
    await host.until(lambda seen: "ready" in seen.phases)
    host.command("dance")
    host.acknowledge_tree("nobody")
    host.admit("[[reply:x]]")
    await host.turn_completed()
