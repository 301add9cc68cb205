"""Sessions whose open turn waits for people, in the states the tests of consent begin from."""

from __future__ import annotations

from collections.abc import Iterable

from netclaw.core.authority import Authority
from netclaw.core.session.commands import TimerKind
from netclaw.core.session.events import SessionEvent
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.session.phase import Phase
from netclaw.core.tool_call import OutcomeCategory
from netclaw.testing.people import ALICE
from netclaw.testing.story import Story


def asked(
    *, by: Authority = ALICE, is_attended: bool = True, interest: OutputFilter = OutputFilter(0)
) -> Story:
    """The first model call of a turn is in flight."""
    story = Story(interest=interest)
    story.start()
    story.admit("question", by=by, attended=is_attended)
    return story


def parked(
    count: int = 1,
    *,
    by: Authority = ALICE,
    is_attended: bool = True,
    interest: OutputFilter = OutputFilter(0),
) -> Story:
    """A turn waits on this many requests and on nothing else."""
    story = asked(by=by, is_attended=is_attended, interest=interest)
    story.ask_consent(count)
    assert story.runtime.phase is Phase.READY
    return story


def recovered(count: int = 1, *, by: Authority = ALICE, is_attended: bool = True) -> Story:
    """The same in the next process, which did not ask."""
    story = parked(count, by=by, is_attended=is_attended)
    story.crash().start()
    return story


def passivated(story: Story) -> Story:
    """The session rests and has no process."""
    story.fire(TimerKind.IDLE)
    story.fire(TimerKind.PASSIVATION_GRACE)
    assert story.state.is_passivated
    return story.crash()


def kinds(events: Iterable[SessionEvent]) -> list[str]:
    """The names of these events."""
    return [type(event).__name__ for event in events]


def outcomes(story: Story) -> list[OutcomeCategory | None]:
    """What came of each call of the open batch so far."""
    assert story.state.turn is not None
    batch = story.state.turn.batch
    return [item.result.receipt.category if item.result else None for item in batch]


def phase_of(story: Story) -> Phase:
    """The phase of the process now."""
    return story.runtime.phase
