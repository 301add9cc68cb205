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
        id="children.exact-names",
        source="S3 child journal",
        text="The child runs of a session are those under exactly its id, whatever characters"
        " ids have in common with patterns.",
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
    Requirement(
        id="children.own-process",
        source="issue 5, S3 child run directory",
        text="A child run has a process, an incarnation, folders and a temporary directory of its"
        " own, within those of its parent, and nobody but its parent and itself speaks of it.",
    ),
    Requirement(
        id="children.places",
        source="decision 89",
        text="Child runs have places of their own, SubAgents.MaxLive of them, and take them in the"
        " order of asking, so that a parent that waits never keeps its runs from starting.",
    ),
    Requirement(
        id="children.reports",
        source="ADR 0031",
        text="A report of a child run is acknowledged when its parent has it on record, starts a"
        " parent without a process, and is said to each new process of it until then.",
    ),
    Requirement(
        id="children.backoff",
        source="decision 70, issue 5 item 6",
        text="A child run that crashes comes back by its own backoff without touching its parent.",
    ),
    Requirement(
        id="children.speaks-for",
        source="decision 70",
        text="A child run that cannot go on any more is reported as failed, once, with a word for"
        " why.",
    ),
    Requirement(
        id="children.gate",
        source="sessions.md §6",
        text="The gate of a cancelled child run is closed in its process; one without a process,"
        " because it waits for a place or a backoff or has died, is over at once.",
    ),
    Requirement(
        id="children.drain",
        source="S3 parked child run, ADR 0031",
        text="A child run that is told to park has no process after that, also if it had none or"
        " dies meanwhile, and its parent hears of the park.",
    ),
    Requirement(
        id="children.kill",
        source="ADR 0031",
        text="A child run that its parent gave up is killed, says nothing and does not come back.",
    ),
    Requirement(
        id="children.stop-order",
        source="S0 Recovery and restart, decision 12",
        text="At a stop of the daemon parents have their runs parked, what is left of runs is"
        " killed, and a restart with a run at work has 18 seconds more.",
    ),
    Requirement(
        id="children.steered",
        source="decision 62, cli.md runs",
        text="An operator lists and cancels child runs, kills their processes and writes to them,"
        " and every other order is for the parent; lists of sessions leave them out unless asked.",
    ),
    Requirement(
        id="children.whole",
        source="issue 5, items 2 to 4",
        text="A task that is handed over is worked on in a process of its own while the session"
        " goes on, and its result is told in one turn that names where it lies.",
    ),
    Requirement(
        id="children.deaths",
        source="issue 5, decision 70",
        text="Whoever is killed, run, parent or daemon: each run's result reaches its parent once,"
        " or its loss is reported once, and no call runs twice.",
    ),
    Requirement(
        id="children.cli",
        source="cli.md runs and agents, issue 5 items 1 and 9",
        text="`netclaw runs` lists, shows and cancels child runs, `netclaw agents` lists agents and"
        " checks their definitions, for people and as JSON.",
    ),
)
