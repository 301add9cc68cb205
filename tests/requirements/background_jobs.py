"""Background jobs in real processes: slots, logs, ends, and what an operator sees of them."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="jobs.lists",
        source="issue 5, item 8; decision 72",
        text="Every job is listed from its start until it is cleaned up, a day after the turn that"
        " told of it, also over restarts of the daemon.",
    ),
    Requirement(
        id="jobs.whole",
        source="sessions.md section 7, issue 5 item 8",
        text="A background call is answered at once with job id, state and log; its end is told of"
        " once, in a turn of its own.",
    ),
)
