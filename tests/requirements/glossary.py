"""The promise map of the glossary: what it says of child runs, consent and jobs, and what shows it.

The sentences are in `glossary.txt`, an entry after the other. A test fails if one names no
requirement, or one without a test, or if an entry is missing.
"""

from __future__ import annotations

from pathlib import Path

from tests.requirements.manifest import Promise, Requirement, promises_in

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="repo.glossary-shown",
        source="issue 5",
        text="Every sentence of the glossary about child runs, parking, the consent of children"
        " and background jobs is shown by a test.",
    ),
)

ENTRIES = (
    "main session",
    "subagent",
    "open child run",
    "agent event",
    "child consent pause",
    "parked child run",
    "child journal",
    "working context",
    "requester",
    "consent answer",
    "child run directory",
    "raw session log",
    "managed temporary directory",
    "artifact directory",
    "project scope",
    "terminal exceptions",
    "background jobs",
)
"""Entries with sentences about runs and jobs."""

PROMISES: tuple[Promise, ...] = tuple(
    promises_in(Path(__file__).with_suffix(".txt").read_text(), "S3")
)
