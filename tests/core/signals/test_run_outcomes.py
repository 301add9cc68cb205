"""How the end of a run is told: exactly as it ended."""

from __future__ import annotations

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.session.child_events import ChildEnded, ChildState
from netclaw.core.session.run_outcomes import outcome_of
from netclaw.core.signals.events import RunOutcome
from tests.core.signals.people import RUN


@pytest.mark.requirement("signals.summaries")
@pytest.mark.parametrize(
    ("state", "reason", "outcome"),
    [
        (ChildState.COMPLETED, "", RunOutcome.COMPLETED),
        (ChildState.CANCELLED, "", RunOutcome.CANCELLED),
        (ChildState.FAILED, ErrorCategory.TIMEOUT.value, RunOutcome.TIMEOUT),
        (ChildState.FAILED, "", RunOutcome.ERROR),
        (ChildState.LOST, "owner_restarted", RunOutcome.ERROR),
        (ChildState.PARTIAL, "", RunOutcome.ERROR),
    ],
)
def test_each_end_has_its_outcome(state: ChildState, reason: str, outcome: RunOutcome) -> None:
    assert outcome_of(ChildEnded(run_id=RUN, state=state, reason=reason)) is outcome
