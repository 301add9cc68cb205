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
    Requirement(
        id="jobs.check",
        source="sessions.md section 7",
        text="A look at a job shows state, time, exit status and the last 2,000 characters, needs"
        " no consent, is no repetition while the job runs, and tells nothing of another's job.",
    ),
    Requirement(
        id="jobs.timeout",
        source="sessions.md section 7, decision 30",
        text="A job runs for the time it was given, unclamped, and without one for as long as it"
        " takes.",
    ),
    Requirement(
        id="jobs.slots",
        source="decisions 72 and 85",
        text="Five jobs run in the whole daemon; the others are Pending in the order of asking, and"
        " an end, a cancel or the death of a session makes room.",
    ),
    Requirement(
        id="jobs.cleared",
        source="sessions.md section 7, decision 47",
        text="A job is authorised like any call, and once more at its gate: nobody to ask, or a"
        " grant revoked while it waited, starts nothing.",
    ),
    Requirement(
        id="jobs.idle",
        source="S0 Passivation, decision 17",
        text="A session with a job does not passivate until the job's end was told of.",
    ),
    Requirement(
        id="jobs.cancel",
        source="sessions.md section 7",
        text="A cancel kills the whole tree; against an end at the same moment there is one end and"
        " one report.",
    ),
    Requirement(
        id="jobs.deaths",
        source="decisions 17, 72 and 85",
        text="A job never outlives its session's process, however that ends and whatever the job"
        " does; it is listed as reaped at the next wake, once, with its log to read.",
    ),
    Requirement(
        id="jobs.told-once",
        source="ADR 0031, glossary result turn",
        text="The end of a job is told of exactly once over any crash between its record and the"
        " turn.",
    ),
    Requirement(
        id="jobs.log",
        source="sessions.md section 7",
        text="A job's log is there from its start, written by whole lines as they come, redacted"
        " across borders of pieces and lines, and rotated at about 5 MB.",
    ),
    Requirement(
        id="jobs.flood",
        source="issue 5, item 8",
        text="Floods of output, of processes or a full disk harm neither the session nor the"
        " daemon.",
    ),
    Requirement(
        id="jobs.files",
        source="sessions.md section 7",
        text="The log of a job can be read by file tools, its definition cannot, and neither can be"
        " written.",
    ),
    Requirement(
        id="jobs.cleanup",
        source="decision 72",
        text="A job's files and its row go a day after the turn that told of it, also while its"
        " session rests.",
    ),
    Requirement(
        id="jobs.cli",
        source="cli.md",
        text="`netclaw jobs list|show|cancel|tail` show, end and follow jobs, for people and as"
        " JSON.",
    ),
)
