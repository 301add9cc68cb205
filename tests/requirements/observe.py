"""Promises about logs."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "observe.redacted",
        "architecture, Security",
        "No secret reaches a log line, whatever quoting the line uses.",
    ),
    Requirement(
        "observe.bounded",
        "surface, Configuration",
        "A day's log file holds at most 10 MB and old files are removed.",
    ),
    Requirement(
        "observe.crash-report",
        "surface, Configuration",
        "An uncaught exception of any thread, or a fatal signal, leaves logs/crash-*.log.",
    ),
    Requirement(
        "observe.crash-tidy",
        "surface, Configuration",
        "A start removes crash reports older than 30 days and empty ones of dead processes.",
    ),
    Requirement(
        "observe.bounded-plain",
        "surface, Configuration",
        "The local model's log is cut to its end when it is over 10 MB at a start of its server.",
    ),
    Requirement(
        "observe.task-stacks",
        "architecture section 1",
        "A session asked for its stacks names what each of its tasks waits for, and no value.",
    ),
)
