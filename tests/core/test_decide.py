"""Every command in every phase is answered; what does not fit changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId, DispatchToken
from netclaw.core.messages import Usage
from netclaw.core.session import commands as c
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.decide import RULES
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.session.phase import Phase
from netclaw.core.session.state import Runtime
from netclaw.core.tool_call import OutcomeCategory, ToolReceipt, ToolResult
from netclaw.testing.story import Story

STALE = DispatchToken("stale")


def recovering() -> Story:
    return Story()


def ready() -> Story:
    story = Story()
    story.start()
    return story


def calling_model() -> Story:
    story = ready()
    story.admit()
    return story


def running_tools() -> Story:
    story = calling_model()
    story.call_tools(2)
    return story


def passivating() -> Story:
    story = ready()
    story.fire(c.TimerKind.IDLE)
    return story


def draining() -> Story:
    story = running_tools()
    story.drain()
    return story


def compacting() -> Story:
    story = ready()
    story.runtime = Runtime(phase=Phase.COMPACTING)
    return story


STALE_COMMANDS: list[c.SessionCommand] = [
    c.FinishRound(
        token=STALE,
        text="late",
        thinking="",
        calls=(),
        finish=c.FinishReason.STOP,
        usage=Usage(),
        model="m",
    ),
    c.FailRound(token=STALE, category=ErrorCategory.TIMEOUT, sentence="S.", reference="r"),
    c.BeginOutput(token=STALE),
    c.FinishTool(
        token=STALE,
        name="n",
        result=ToolResult(
            call_id=CallId("c"), text="", receipt=ToolReceipt(category=OutcomeCategory.SUCCESS)
        ),
    ),
    *(c.FireTimer(timer=timer, token="stale") for timer in c.TimerKind),
    *(c.FireTimer(timer=timer, token="") for timer in c.TimerKind),
    c.Advance(),
]

LIVE_COMMANDS: list[c.SessionCommand] = [
    c.Recover(),
    c.StopTurn(actor="operator"),
    c.Drain(then=AfterDrain.DAEMON_RESTART, budget_s=5.0),
    c.Passivate(reason="operator"),
    c.ChangeInterest(interest=OutputFilter.TEXT),
]

SITUATIONS = [
    recovering,
    ready,
    calling_model,
    running_tools,
    passivating,
    draining,
    compacting,
]


@pytest.mark.requirement("core.late-results")
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda item: item.__name__)
@pytest.mark.parametrize("command", STALE_COMMANDS, ids=lambda item: type(item).__name__)
def test_a_stale_command_changes_nothing_whatever_is_going_on(
    situation: Callable[[], Story], command: c.SessionCommand
) -> None:
    story = situation()
    before = story.runtime
    decision = story.ask(command)
    assert (decision.events, decision.effects, decision.outputs) == ((), (), ())
    assert decision.runtime == before


@pytest.mark.requirement("core.total")
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda item: item.__name__)
@pytest.mark.parametrize("command", LIVE_COMMANDS, ids=lambda item: type(item).__name__)
def test_every_command_is_answered_whatever_is_going_on(
    situation: Callable[[], Story], command: c.SessionCommand
) -> None:
    story = situation()
    story.when(command)
    story.when(command)
    assert story.runtime.phase in Phase


def test_every_command_has_a_rule() -> None:
    assert set(RULES) == set(get_args(c.SessionCommand))


def test_an_input_in_a_phase_that_runs_nothing_yet_is_left_for_later() -> None:
    for situation in (recovering, compacting):
        story = situation()
        story.given(story.input())
        assert story.when(c.Advance()).events == ()
