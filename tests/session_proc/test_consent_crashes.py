"""A process dies at any append of a turn that asks: asked for once, run at most once."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from netclaw.core.exit_codes import ExitCode
from netclaw.core.session.consent_events import ConsentAnswered, ConsentRequested
from netclaw.core.session.events import (
    AnswerAdmitted,
    ToolBatchStarted,
    ToolResultRecorded,
    TurnFailed,
    TurnRecorded,
)
from tests.session_proc.conftest import Start
from tests.session_proc.host import Crash, ScriptedHost
from tests.session_proc.test_rechecks import PROMPT, answer, ask_unless_given
from tests.session_proc.tools import ScriptedTools

APPENDS = 6
"""Turn, round and request, answer, launch, result, end."""


def count(host: ScriptedHost, *kinds: type) -> int:
    """How many events of these kinds there are."""
    return sum(isinstance(event, kinds) for event in host.journal.events())


async def person(host: ScriptedHost) -> None:
    """Answers the request as soon as it is durable, whether or not a process is there to hear."""
    await host.until(lambda _seen: count(host, ConsentRequested) > 0)
    assert count(host, AnswerAdmitted) == 0
    answer(host, "approve_once")


@pytest.mark.requirement("judging.processes")
@pytest.mark.parametrize(("number", "crash"), list(itertools.product(range(1, APPENDS + 1), Crash)))
async def test_a_crash_at_any_append_asks_once_and_runs_at_most_once(
    host: ScriptedHost, start: Start, tools: ScriptedTools, number: int, crash: Crash
) -> None:
    tools.rule = ask_unless_given
    host.crash_at = (number, crash)
    host.journal.admit(PROMPT)
    answering = asyncio.create_task(person(host))
    async with asyncio.timeout(10):
        assert await start() is ExitCode.STREAM_LOST
    await host.over.wait()
    host.crash_at = None
    await answering_or_asked(host, start, answering)
    await host.until(lambda _seen: count(host, TurnRecorded, TurnFailed) == 1)

    assert count(host, ConsentRequested) == 1
    assert count(host, ConsentAnswered) == 1
    assert count(host, ToolBatchStarted) == 1
    (result,) = (item for item in host.journal.events() if isinstance(item, ToolResultRecorded))
    is_unknown = (number, crash) in {(4, Crash.AFTER_COMMIT), (5, Crash.BEFORE_COMMIT)}
    assert result.result.receipt.category == ("Interrupted" if is_unknown else "Success")
    assert tools.started["a"] == (0 if (number, crash) == (4, Crash.AFTER_COMMIT) else 1)


async def answering_or_asked(
    host: ScriptedHost, start: Start, answering: asyncio.Task[None]
) -> None:
    """The next process; the answer comes in the first or in this one."""
    if count(host, TurnRecorded, TurnFailed):
        answering.cancel()
        return
    start()
    async with asyncio.timeout(10):
        await answering
