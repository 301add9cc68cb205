"""Appends: one in flight, refused and decided again, failed for good, raced by admissions."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import CallId
from netclaw.core.session.events import (
    AnswerAdmitted,
    RoundRecorded,
    TitleSet,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.outputs import OutputFilter
from netclaw.session_proc.recovery import rebuild
from netclaw.wire.v1.session_host_pb2 import (
    Append,
    AppendFailed,
    Committed,
    ToSession,
    Welcome,
)
from tests.fakes.model import FakeModel, Outcome
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost
from tests.session_proc.journal import SESSION
from tests.session_proc.tools import ScriptedTools


def types_of(append: Append) -> list[str]:
    """The event types of an append."""
    return [event.type for event in append.events]


def interfere_once(host: ScriptedHost, event_type: str) -> None:
    """Commit something foreign right before the first append that holds this event."""

    def interfere(append: Append) -> None:
        if event_type in types_of(append):
            host.before_append = lambda _append: None
            rows = host.journal.commit((TitleSet(title="moved", actor="test"),))
            host.send(ToSession(committed=Committed(rows=rows)))

    host.before_append = interfere


@pytest.mark.requirement("session_proc.refused")
@pytest.mark.parametrize("event_type", ["TurnStarted", "RoundRecorded", "TurnRecorded"])
async def test_a_refused_append_is_decided_again(
    host: ScriptedHost,
    start: Start,
    model: FakeModel,
    tools: ScriptedTools,
    event_type: str,
) -> None:
    interfere_once(host, event_type)
    start()
    host.hold_appends.clear()
    host.admit('[[tool:say {"key":"a"}]] [[reply:done]]')
    await model.wait_for_requests(1)
    host.hold_appends.set()
    await host.turn_completed()
    refused = [append for append in host.seen.appends if event_type in types_of(append)]
    assert len({append.append_id for append in refused}) == 2
    assert refused[1].expected_head > refused[0].expected_head
    assert host.journal.names().count(event_type) == 1
    assert tools.started == {"a": 1}
    # Only the call begun ahead of the refused start was begun twice: no held result is asked again.
    assert model.request_count == (3 if event_type == "TurnStarted" else 2)


@pytest.mark.requirement("session_proc.refused")
async def test_the_early_call_of_a_refused_start_is_cancelled(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    interfere_once(host, "TurnStarted")
    start()
    await host.until(lambda seen: "ready" in seen.phases)
    host.hold_appends.clear()
    host.admit("[[gate:g]] [[reply:x]]")
    await model.gates.wait_for_arrival("g")
    host.hold_appends.set()
    await model.wait_for_requests(2)
    await model.wait_for_outcome(Outcome.DISCONNECTED)
    model.gates.open("g")
    await host.turn_completed()
    started = [event for event in host.journal.events() if isinstance(event, TurnStarted)]
    ended = [event for event in host.journal.events() if isinstance(event, TurnRecorded)]
    assert [event.turn_id for event in ended] == [event.turn_id for event in started]
    assert model.requests[0].outcome is Outcome.DISCONNECTED


@pytest.mark.requirement("session_proc.admission-race")
async def test_an_admission_races_the_end_of_a_turn(host: ScriptedHost, start: Start) -> None:
    """The append is tolerated over the admission; the input then has a turn of its own."""
    second: list[str] = []

    def admit(append: Append) -> None:
        if "TurnRecorded" in types_of(append) and not second:
            second.append(host.admit("[[reply:two]]"))

    host.before_append = admit
    start()
    first = host.admit("[[reply:one]]")
    await host.turn_completed(2)
    assert [list(o.input_ids) for o in host.seen.of_type("turn_completed")] == [[first], second]
    names = host.journal.names()
    assert names.count("TurnRecorded") == 2
    assert names.index("TurnRecorded") > names.index("InputAdmitted", 1)


@pytest.mark.requirement("session_proc.admission-race")
async def test_a_flood_of_admissions_loses_nothing(host: ScriptedHost, start: Start) -> None:
    waiting = [f"[[reply:r{number}]]" for number in range(30)]
    sent: list[str] = []

    def admit(_append: Append) -> None:
        if waiting:
            sent.append(host.admit(waiting.pop(0), sender=f"person {len(waiting)}"))

    host.before_append = admit
    start()
    sent.insert(0, host.admit("[[reply:first]]"))
    await host.turn_completed(31)
    consumed = [o.input_ids[0] for o in host.seen.of_type("turn_completed")]
    assert consumed == sent


@pytest.mark.requirement("session_proc.joined")
async def test_a_message_of_the_same_person_joins_at_the_batch_boundary(
    host: ScriptedHost, start: Start, model: FakeModel, tools: ScriptedTools
) -> None:
    start()
    first = host.admit('[[tool:wait {"key":"w"}]] [[reply:done]]')
    await tools.until_started(1)
    second = host.admit("and this too")
    await host.settled()
    tools.gate("w").set()
    await host.turn_completed()
    assert list(host.seen.of_type("turn_completed")[0].input_ids) == [first, second]
    assert "and this too" in str(model.requests[-1].messages)


@pytest.mark.requirement("session_proc.storage")
async def test_a_failed_save_in_a_turn_is_told_and_ends_the_process(
    host: ScriptedHost, start: Start
) -> None:
    def fail(append: Append) -> AppendFailed | None:
        if "ToolResultRecorded" in types_of(append):
            return AppendFailed(code="storage_full", sentence="The disk is full.")
        return None

    host.fail_append = fail
    process = start()
    first = host.admit('[[tool:say {"key":"a"}]] [[reply:done]]')
    second = host.admit("[[reply:behind it]]", sender="bob")
    async with asyncio.timeout(15):
        assert await process is ExitCode.STORAGE
    error = host.seen.of_type("error")[0]
    assert error.category == "Storage"
    assert error.text == "The disk is full. Some actions may already have run."
    assert error.turn_id
    assert list(error.input_ids) == [first, second]
    assert host.seen.failing == []


@pytest.mark.requirement("session_proc.fenced")
async def test_a_fenced_process_ends(host: ScriptedHost, start: Start) -> None:
    process = start()
    await host.until(lambda seen: "ready" in seen.phases)
    host.journal.incarnation += 1
    host.admit("[[reply:x]]")
    async with asyncio.timeout(15):
        assert await process is ExitCode.FENCED
    assert host.journal.names() == ["InputAdmitted"]


@pytest.mark.requirement("session_proc.internal")
async def test_an_append_that_may_not_be_is_a_fault_of_ours(
    host: ScriptedHost, start: Start
) -> None:
    host.fail_append = lambda _append: AppendFailed(code="invalid_argument", sentence="No.")
    process = start()
    host.admit("[[reply:x]]")
    async with asyncio.timeout(15):
        assert await process is ExitCode.INTERNAL
    assert "invalid_argument" in host.seen.failing[0].stack


@pytest.mark.requirement("session_proc.internal")
async def test_a_fault_in_a_task_is_reported_and_never_a_hang(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    def burst(_call: object) -> None:
        raise RuntimeError("broken tool runner")

    tools.on_start = burst
    process = start()
    host.admit('[[tool:say {"key":"a"}]]')
    async with asyncio.timeout(15):
        assert await process is ExitCode.INTERNAL
    failing = host.seen.failing[0]
    assert failing.code == "internal"
    assert "broken tool runner" in failing.stack


@pytest.mark.requirement("session_proc.internal")
async def test_rows_out_of_order_are_a_fault(host: ScriptedHost, start: Start) -> None:
    """The report of it is read, however late: the process goes when the supervisor has it."""
    process = start()
    await host.until(lambda seen: "ready" in seen.phases)
    host.reading.clear()
    _, rows = host.journal.admit("[[reply:x]]")
    rows[0].seq += 1
    host.send(ToSession(committed=Committed(rows=rows)))
    # One that does not wait for the end of its stream is gone by then, its report unread.
    await asyncio.wait((process,), timeout=0.2)
    host.reading.set()
    async with asyncio.timeout(15):
        assert await process is ExitCode.INTERNAL
    assert "was sent after" in host.seen.failing[0].stack


async def test_rows_already_known_are_passed_over(host: ScriptedHost, start: Start) -> None:
    start()
    host.admit("[[reply:x]]")
    await host.turn_completed()
    host.send(ToSession(committed=Committed(rows=host.journal.rows[:3])))
    host.admit("[[reply:y]]")
    await host.turn_completed(2)
    assert host.seen.failing == []


async def test_an_answer_to_nothing_changes_nothing(host: ScriptedHost, start: Start) -> None:
    start()
    answer = AnswerAdmitted(call_id=CallId("gone"), option="once", answerer="me")
    await host.until(lambda seen: "ready" in seen.phases)
    rows = host.journal.commit((answer,))
    host.send(ToSession(committed=Committed(rows=rows)))
    host.admit("[[reply:y]]")
    await host.turn_completed()


@pytest.mark.requirement("session_proc.snapshots")
async def test_snapshots_are_taken_at_intervals_and_are_the_whole_state(
    host: ScriptedHost, start: Start
) -> None:
    start()
    for count in range(1, 15):
        host.admit("[[reply:x]]")
        await host.turn_completed(count)
    assert host.journal.snapshot_seq >= 20
    asked = [append for append in host.seen.appends if append.HasField("snapshot")]
    assert len(asked) == 2
    journal = host.journal
    assert journal.snapshot is not None
    whole = Welcome(session_id=SESSION, tail=journal.rows)
    short = Welcome(
        session_id=SESSION,
        snapshot=journal.snapshot.payload,
        snapshot_seq=journal.snapshot_seq,
        tail=journal.rows[journal.snapshot_seq :],
    )
    assert rebuild(short) == rebuild(whole)
    assert not any(append.snapshot.mandatory for append in asked)


@pytest.mark.requirement("session_proc.snapshots")
async def test_a_raced_snapshot_is_put_off_to_the_next_append(
    host: ScriptedHost, start: Start
) -> None:
    raced: list[int] = []

    def race(append: Append) -> None:
        if append.HasField("snapshot") and not raced:
            raced.append(append.expected_head)
            host.admit("[[reply:in between]]", sender="another")

    host.before_append = race
    start()
    count = 0
    while host.journal.snapshot is None:
        host.admit("[[reply:x]]")
        count += 1
        await host.turn_completed(count + len(raced))
    asked = [append for append in host.seen.appends if append.HasField("snapshot")]
    assert len(raced) == 1
    assert len(asked) == 2
    assert host.seen.appends.index(asked[1]) == host.seen.appends.index(asked[0]) + 1


@pytest.mark.requirement("session_proc.boundary")
async def test_an_admission_right_before_the_boundary_joins_at_it(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    """Committed beneath the append of the last result: it is in the very next request."""
    late: list[str] = []

    def admit(append: Append) -> None:
        if "ToolResultRecorded" in types_of(append) and not late:
            late.append(host.admit("just before"))

    host.before_append = admit
    start()
    first = host.admit('[[tool:say {"key":"a"}]] [[reply:done]]')
    await host.turn_completed()
    (completed,) = host.seen.of_type("turn_completed")
    assert list(completed.input_ids) == [first, *late]
    assert model.request_count == 2, "no model call is begun and thrown away"
    assert "just before" in str(model.requests[1].messages)


@pytest.mark.requirement("session_proc.preamble")
@pytest.mark.parametrize(
    ("interest", "shown"), [(OutputFilter.TOOL_CALLS, 0), (OutputFilter.TEXT, 1)]
)
async def test_a_preamble_leaves_only_if_the_record_says_so(
    host: ScriptedHost, start: Start, interest: OutputFilter, shown: int
) -> None:
    host.interest = interest
    start()
    host.admit('[[reply:Looking.]] [[tool:say {"key":"a"}]] [[reply:done]]')
    await host.turn_completed()
    (recorded,) = (e for e in host.journal.events() if isinstance(e, RoundRecorded))
    assert recorded.is_text_released is bool(shown)
    assert [o.text for o in host.seen.of_type("text")] == ["Looking."] * shown + ["done"]


@pytest.mark.requirement("session_proc.few-frames")
async def test_a_plain_turn_is_two_frames(host: ScriptedHost, start: Start) -> None:
    """What the process does next rides in the append that makes it so."""
    host.interest = OutputFilter.TEXT
    start()
    await host.until(lambda seen: "ready" in seen.phases)
    await host.settled()
    before = len(host.seen.frames)
    host.admit("[[reply:short]]")
    await host.turn_completed()
    await host.settled()
    frames = [frame for frame in host.seen.frames[before:] if frame.WhichOneof("body") != "pong"]
    assert [frame.WhichOneof("body") for frame in frames] == ["append", "append"]
    assert [frame.append.phase for frame in frames] == ["processing", "ready"]
