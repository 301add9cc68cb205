"""Crashes: at every append boundary, then a new process on the same journal."""

from __future__ import annotations

import asyncio
import itertools
import threading

import pytest

from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import SessionId
from netclaw.core.session.events import SessionEvent, ToolResultRecorded, TurnFailed, TurnRecorded
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.session.state import SessionState
from netclaw.session_proc import recovery
from netclaw.session_proc.frames import HostFault
from netclaw.session_proc.recovery import INLINE_ROWS, rebuild, recover_state
from netclaw.wire.journal_codec import STATE_CODEC, encode_state
from netclaw.wire.v1.session_host_pb2 import Welcome
from tests.fakes.model import FakeModel
from tests.session_proc.conftest import Start
from tests.session_proc.host import Crash, ScriptedHost
from tests.session_proc.journal import SESSION, MemoryJournal
from tests.session_proc.tools import ScriptedTools

TOOL_TURN = '[[tool:say {"key":"a"}]] [[reply:done]]'
APPENDS_OF_TOOL_TURN = 4
"""TurnStarted; RoundRecorded with ToolBatchStarted; ToolResultRecorded; TurnRecorded."""


def ends_of(events: list[SessionEvent]) -> list[TurnRecorded | TurnFailed]:
    """The ends of turns."""
    return [event for event in events if isinstance(event, TurnRecorded | TurnFailed)]


async def live_until_crash(host: ScriptedHost, start: Start) -> None:
    """Start a process and wait until it ended because its stream was cut."""
    process = start()
    async with asyncio.timeout(10):
        assert await process is ExitCode.STREAM_LOST
    await host.over.wait()
    host.crash_at = None


@pytest.mark.requirement("session_proc.crash-boundaries")
@pytest.mark.parametrize(
    ("number", "crash"), list(itertools.product(range(1, APPENDS_OF_TOOL_TURN + 1), Crash))
)
async def test_a_crash_at_any_append_loses_and_doubles_nothing(
    host: ScriptedHost,
    start: Start,
    tools: ScriptedTools,
    model: FakeModel,
    number: int,
    crash: Crash,
) -> None:
    host.interest = OutputFilter.TEXT
    host.crash_at = (number, crash)
    host.journal.admit(TOOL_TURN)
    await live_until_crash(host, start)
    is_over = bool(ends_of(host.journal.events()))
    start()
    if not is_over:
        await host.turn_completed()
    host.admit("[[reply:still usable]]")
    await host.until(lambda seen: "still usable" in seen.text("text"))
    first_end = ends_of(host.journal.events())[0]
    launched_unknown = (number, crash) in {(2, Crash.AFTER_COMMIT), (3, Crash.BEFORE_COMMIT)}
    if launched_unknown:
        assert isinstance(first_end, TurnFailed)
        assert first_end.category == "Interrupted"
        results = [e for e in host.journal.events() if isinstance(e, ToolResultRecorded)]
        assert [e.result.receipt.category for e in results] == ["Interrupted"]
        assert "Some actions may already have run." in first_end.note
    else:
        assert isinstance(first_end, TurnRecorded)
        assert first_end.message.text == "done"
    assert tools.started["a"] == (0 if (number, crash) == (2, Crash.AFTER_COMMIT) else 1)
    assert len(ends_of(host.journal.events())) == 2
    assert model.by_message[TOOL_TURN] >= 1


@pytest.mark.requirement("session_proc.crash-boundaries")
@pytest.mark.parametrize("crash", Crash)
async def test_a_turn_whose_text_was_out_is_reported_not_continued(
    host: ScriptedHost, start: Start, crash: Crash
) -> None:
    """Append 3 is the TurnRecorded behind an OutputStarted."""
    host.crash_at = (3, crash)
    host.journal.admit("[[tokens:30]] [[pace:2]]")
    await live_until_crash(host, start)
    assert "OutputStarted" in host.journal.names()
    start()
    await host.until(lambda seen: "ready" in seen.phases)
    if crash is Crash.BEFORE_COMMIT:
        await host.turn_completed()
    end = ends_of(host.journal.events())[0]
    assert isinstance(end, TurnFailed if crash is Crash.BEFORE_COMMIT else TurnRecorded)
    assert len(ends_of(host.journal.events())) == 1


@pytest.mark.requirement("session_proc.crash-boundaries")
async def test_an_input_admitted_while_dead_runs(host: ScriptedHost, start: Start) -> None:
    host.journal.admit("[[reply:one]]", sender="a")
    host.journal.admit("[[reply:two]]", sender="b")
    start()
    await host.turn_completed(2)
    assert [output.text for output in host.seen.of_type("text")] == ["one", "two"]


async def test_many_lives_keep_one_history(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    for life in range(1, 4):
        process = start()
        host.journal.admit(f"[[reply:answer {life}]]")
        await host.until(lambda _seen: host.connected.is_set())
        if life == 1:
            host.admit("[[reply:more]]")
        await host.turn_completed(life + 1)
        host.command("passivate", reason="test")
        async with asyncio.timeout(15):
            assert await process is ExitCode.PASSIVATED
        await host.over.wait()
    assert host.journal.incarnation == 3
    texts = [m["content"] for m in model.requests[-1].messages if m["role"] == "assistant"]
    assert texts == ["answer 1", "more", "answer 2"]


def welcome_of(journal: MemoryJournal, *, snapshot_at: int) -> Welcome:
    """What a process of this journal is welcomed with."""
    state = rebuild(Welcome(session_id=SESSION, tail=journal.rows[:snapshot_at]))
    return Welcome(
        session_id=SESSION,
        snapshot=encode_state(state) if snapshot_at else b"",
        snapshot_seq=snapshot_at,
        snapshot_codec=STATE_CODEC,
        tail=journal.rows[snapshot_at:],
    )


@pytest.mark.requirement("session_proc.replay")
async def test_a_snapshot_and_its_tail_are_the_whole_journal() -> None:
    journal = MemoryJournal()
    for number in range(50):
        journal.admit(f"message {number}")
    whole = await recover_state(welcome_of(journal, snapshot_at=0))
    assert whole.head == 51
    for place in (1, 20, 51):
        assert await recover_state(welcome_of(journal, snapshot_at=place)) == whole


@pytest.mark.requirement("session_proc.replay")
async def test_a_long_tail_is_read_without_holding_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    has_turned = threading.Event()

    def rebuild_once_the_loop_turned(welcome: Welcome) -> SessionState:
        assert has_turned.wait(10)
        return rebuild(welcome)

    monkeypatch.setattr(recovery, "rebuild", rebuild_once_the_loop_turned)
    journal = MemoryJournal()
    for number in range(INLINE_ROWS + 100):
        journal.admit(f"message {number}")
    welcome = welcome_of(journal, snapshot_at=0)
    reading = asyncio.create_task(recover_state(welcome))
    asyncio.get_running_loop().call_soon(has_turned.set)
    assert len((await reading).buffered) == INLINE_ROWS + 100


def test_a_gap_in_the_tail_is_a_fault() -> None:
    journal = MemoryJournal()
    journal.admit("one")
    journal.admit("two")
    with pytest.raises(HostFault, match="holds event 3 where 2 belongs"):
        rebuild(Welcome(session_id=SESSION, tail=[journal.rows[0], journal.rows[2]]))


def test_a_snapshot_of_another_place_is_a_fault() -> None:
    payload = encode_state(SessionState(session_id=SessionId("x"), head=4))
    with pytest.raises(HostFault, match="snapshot at 5"):
        rebuild(Welcome(session_id=SESSION, snapshot=payload, snapshot_seq=5))


async def test_a_snapshot_that_cannot_be_read_ends_the_process_with_its_reason(
    host: ScriptedHost, start: Start
) -> None:
    host.journal.admit("x")
    host.journal.snapshot_seq = 1
    host.journal.snapshot = None
    process = start()
    async with asyncio.timeout(15):
        assert await process is ExitCode.INTERNAL
    assert "holds event 2" in host.seen.failing[0].stack
