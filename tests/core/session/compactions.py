"""Sessions that compact, and the notes call played by the test."""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.authority import Authority
from netclaw.core.messages import (
    Usage,
)
from netclaw.core.session.commands import (
    FinishNotes,
    FinishRound,
)
from netclaw.core.session.compaction_state import CompactionRun
from netclaw.core.session.effects import (
    CallNotes,
    Decision,
)
from netclaw.core.session.phase import Phase
from netclaw.core.settings import SessionTuning
from netclaw.testing.people import OPERATOR
from netclaw.testing.story import SHELL, Story
from tests.core.session.histories import settings_of

WINDOW = 4000
FULL = Usage(input_tokens=3500, output_tokens=10)


def story(*, tuning: SessionTuning | None = None, turns: int = 5, size: int = 800) -> Story:
    """A session at rest after some turns, well below the threshold."""
    told = Story(settings=settings_of(window=WINDOW, tuning=tuning))
    told.start()
    for number in range(turns):
        told.admit(f"question {number}")
        told.when(told.answered("x" * size))
    return told


def phase_of(told: Story) -> Phase:
    """What the session is doing now."""
    return told.runtime.phase


def overfull(told: Story, text: str = "so long") -> FinishRound:
    """An answer whose request had passed the threshold."""
    return told.answered(text, usage=FULL)


def run_of(told: Story) -> CompactionRun:
    run = told.runtime.compaction
    assert run is not None
    return run


def notes(told: Story, text: str = "The notes.") -> Decision:
    """The notes call answers."""
    return told.when(FinishNotes(token=run_of(told).token, text=text))


def calls_of(decision: Decision) -> tuple[CallNotes, ...]:
    return tuple(item for item in decision.effects if isinstance(item, CallNotes))


def compacting() -> Story:
    """A session that compacts after its turn."""
    told = story()
    told.admit("the last question")
    told.when(overfull(told))
    assert phase_of(told) is Phase.COMPACTING
    return told


def in_tool_loop(*, by: Authority = OPERATOR) -> Story:
    """A turn in its tool loop whose last round passed the threshold; one tool still runs."""
    told = story()
    told.admit("work", by=by)
    told.call_tools(1)
    told.finish_tools()
    answered = replace(told.answered(calls=(SHELL,)), usage=FULL)
    told.when(answered)
    return told
