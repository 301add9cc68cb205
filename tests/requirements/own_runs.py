"""Child runs, seen from their sides of the stream: the run's process and the parent's."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="run.reports",
        source="issue 5 items 3 and 4",
        text="A run's process says that it is at work and how it ended, after its result.md is"
        " durable, is told of nothing but its task, and posts to no channel.",
    ),
    Requirement(
        id="run.waits",
        source="ADR 0031",
        text="A run's process works without waiting for its parent, and exits only when its park"
        " or end is on its parent's record.",
    ),
    Requirement(
        id="run.again",
        source="decision 70, issue 5 item 6",
        text="Wherever a run's process is killed, the next one finds what was not heard in the"
        " journal and reports it again; no call runs twice.",
    ),
    Requirement(
        id="run.consent",
        source="S3 parked child run",
        text="A run that waits for consent alone parks with its requests and has no process; its"
        " next start runs the parked calls alone, once each; one that nobody attends never asks.",
    ),
    Requirement(
        id="run.drain",
        source="S3 drain park",
        text="A drained run stops at a safe point, parks with no request, and goes on with a model"
        " call, its finished tools not run again.",
    ),
    Requirement(
        id="run.lost",
        source="decision 70",
        text="A run that lost its owner in the middle of a tool ends as owner_restarted.",
    ),
    Requirement(
        id="run.cancel",
        source="S0 check_agent_run",
        text="A cancelled run closes its gate for models, tools and answers, reports that, and"
        " within five seconds its end.",
    ),
    Requirement(
        id="run.output-limit",
        source="S0 Storage on disk",
        text="A run's reply that was cut at the output limit is kept as truncated-output.md.",
    ),
    Requirement(
        id="run.people",
        source="decision 62",
        text="A person who writes into a run's session neither ends it nor changes its requester.",
    ),
)
