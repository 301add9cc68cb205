"""The promise map of what was found out about child runs and background jobs.

The sentences are in `runs_reference.txt`. A test fails if one names no requirement, or one without
a test.
"""

from __future__ import annotations

from pathlib import Path

from tests.requirements.manifest import Promise, Requirement, promises_in

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="run.watchdogs",
        source="sessions.md section 6",
        text="A run's model call is given up by its own agent's clock, which ends that run alone.",
    ),
)

PROMISES: tuple[Promise, ...] = tuple(
    promises_in(Path(__file__).with_suffix(".txt").read_text(), "sessions.md")
)
