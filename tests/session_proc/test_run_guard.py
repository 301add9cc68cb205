"""What ends a child run that does not get on: the loop guard, and the clock of its agent."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from netclaw.core.session.child_effects import ReportKind
from netclaw.core.session.child_events import ChildState
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost
from tests.session_proc.runs import FROZEN, RunDesk
from tests.session_proc.tools import ScriptedTools


@pytest.mark.requirement("run.guard")
async def test_a_run_that_repeats_itself_is_ended_with_what_it_has(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    again = 'Once more. [[tool:say {"key":"a"}]]'
    desk = RunDesk(host, " [[next]] ".join([again] * 12))
    async with asyncio.timeout(15):
        await start()
    end = desk.reports[-1]
    assert (end.kind, end.state, end.reason) == (ReportKind.ENDED, ChildState.PARTIAL, "loop_guard")
    assert tools.started == {"a": 2}, "what repeats itself is refused after two equal rounds"
    assert (desk.folder / "result.md").read_text().startswith("# worker: Partial\n")


@pytest.mark.requirement("run.watchdogs")
async def test_a_run_whose_model_is_silent_is_given_up_by_the_clock_of_its_agent(
    host: ScriptedHost, start: Start
) -> None:
    assert host.settings.timeouts.prefill_s > 100
    frozen = replace(FROZEN, timeout_s=0.3, prefill_s=0.3)
    desk = RunDesk(host, "[[gate:never]] [[reply:late]]", frozen=frozen)
    async with asyncio.timeout(15):
        await start()
    end = desk.reports[-1]
    assert (end.kind, end.state, end.reason) == (ReportKind.ENDED, ChildState.FAILED, "Timeout")
