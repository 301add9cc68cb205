"""What listings say beside the catalog: open work of a session, memory of all of them."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from netclaw.core.ids import CallId, RunId
from netclaw.core.session.child_state import ChildRun, RunRequest
from netclaw.core.session.job_events import JobState
from netclaw.core.session.job_state import JobRun
from netclaw.core.session.state import CallConsent, CallState, OpenTurn, SessionState
from netclaw.core.tool_call import ToolCall
from netclaw.supervisor.memory_use import SAMPLE, measure
from netclaw.supervisor.rows import open_work
from tests.store.examples import (
    ACCEPTED,
    AUTHORITY,
    CALL,
    ENDED,
    INPUT,
    JOB,
    JOB_STARTED,
    REQUEST,
    RUN,
    TOOL_CALL,
    TURN,
)


def call(name: str) -> ToolCall:
    """A call of the open batch."""
    return replace(TOOL_CALL, call_id=CallId(name))


@pytest.mark.requirement("operator.open-work")
def test_open_work_is_what_waits_or_runs() -> None:
    answered = CallConsent(request=REQUEST, asked_at=1, answer="once")
    batch = (
        CallState(call=call("waits"), consent=CallConsent(request=REQUEST, asked_at=1)),
        CallState(call=call("answered"), consent=answered),
        CallState(call=call("runs"), is_launched=True),
    )
    asked = RunRequest(request=REQUEST, turn_id=TURN, asked_at=1)
    told = replace(asked, request=replace(REQUEST, call_id=CallId("told")), answer="once")
    over = replace(ACCEPTED, run_id=RunId("over"))
    closed = replace(ACCEPTED, run_id=RunId("closed"))
    state = SessionState(
        turn=OpenTurn(
            turn_id=TURN, authority=AUTHORITY, input_ids=(INPUT,), started_at=1, batch=batch
        ),
        children=(
            ChildRun(accepted=ACCEPTED, accepted_at=1, requests=(asked, told)),
            ChildRun(accepted=over, accepted_at=1, ended=ENDED),
            ChildRun(accepted=closed, accepted_at=1, ended=ENDED, is_closed=True),
        ),
        jobs=(
            JobRun(started=JOB_STARTED, started_at=1),
            JobRun(started=JOB_STARTED, started_at=1, state=JobState.REAPED),
        ),
    )
    calls, runs, jobs = open_work(state)
    assert calls == ["waits", CALL]
    assert runs == [RUN, "over"], "a run is open until a turn has told of its end"
    assert jobs == [JOB]
    assert open_work(SessionState()) == ([], [], [])


@pytest.mark.requirement("operator.status-overview")
def test_memory_is_measured_of_a_sample_where_there_are_many() -> None:
    me = os.getpid()
    one = measure([me], [me])
    assert one.daemon_bytes > 1_000_000
    many = measure([], [me] * (2 * SAMPLE + 1))
    assert many.daemon_bytes == 0
    assert many.sessions_bytes > one.sessions_bytes * SAMPLE
    assert measure([2**22 + 1], []).daemon_bytes == 0, "a process that is gone takes nothing"
