"""The promise map: each sentence of the sessions document, and what shows that it is kept.

The sentences are in `sessions_document.txt`, a section after the other. `PROMISES` are read from
there; a test fails if one names no requirement, or one without a test.
"""

from __future__ import annotations

from pathlib import Path

from tests.requirements.manifest import ManifestError, Promise, Requirement, promises_in

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "session.any-source",
        "S0 Everything is just input",
        "A turn runs the same way whatever kind of thing its input came from.",
    ),
    Requirement(
        "session.nothing-shared",
        "S0 Session identity",
        "Nothing of one conversation reaches the model or the files of another.",
    ),
)

PARTS_TO_COME = (
    "webhooks",
    "reminders",
    "memory",
    "skills",
    "pairing of devices",
)
"""What a promise may wait for, with the issue that brings it where there is one."""

_MAP = Path(__file__).with_suffix(".txt")

PROMISES: tuple[Promise, ...] = tuple(promises_in(_MAP.read_text(), "S0"))
if not PROMISES:
    message = "the map of the sessions document is empty"
    raise ManifestError(message)
