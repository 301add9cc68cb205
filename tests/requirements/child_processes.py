"""Child runs in real processes: their sessions, starts, reports, ends, and what people see."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="children.born-whole",
        source="decision 69, issue 5 item 3",
        text="A child run is a session of its own, made in one commit with what it is frozen to and"
        " its task, under the authority and attendance of the turn that asked for it, and with no"
        " place to post to.",
    ),
    Requirement(
        id="children.start-once",
        source="ADR 0031, S3 parked child run",
        text="A start of a child run with a number that was seen is the same process, and its"
        " answers are handed in once, whoever dies in between.",
    ),
    Requirement(
        id="children.start-refused",
        source="ADR 0031",
        text="No process is started for a run that its parent does not have or that is over.",
    ),
    Requirement(
        id="children.lists",
        source="issue 5, item 9",
        text="Every child run is listed with what became of it, also after it was told of and over"
        " restarts of the daemon.",
    ),
    Requirement(
        id="children.purge",
        source="S3 child journal, decision 69",
        text="The journal of a child run is purged last: once the turn that told of its end is"
        " over, with a closing event; its files stay.",
    ),
    Requirement(
        id="children.owner-gone",
        source="decision 90, S3 child journal",
        text="The reset or deletion of a session ends the processes of its child runs and leaves"
        " nothing of their journals.",
    ),
    Requirement(
        id="children.consent-parent",
        source="decision 69",
        text="What a child run asks for is listed and answered once, with its parent.",
    ),
)
