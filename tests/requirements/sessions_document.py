"""The promise map: each sentence of the sessions document, and what shows that it is kept.

The sentences are in `sessions_document.txt`, a section after the other. `PROMISES` are read from
there; a test fails if one names no requirement, or one without a test.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.requirements.manifest import ManifestError, Promise, Requirement

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
    "channels (issue 7)",
    "webhooks",
    "reminders",
    "child processes (issue 5)",
    "background jobs (issue 5)",
    "memory",
    "skills",
)
"""What a promise may wait for, with the issue that brings it where there is one."""

_MAP = Path(__file__).with_suffix(".txt")
_LATER = "later: "


def read(text: str) -> Iterator[Promise]:
    """The promises of a map. Raises `ManifestError` for one that nothing shows."""
    section = sentence = later = ""
    ids: tuple[str, ...] = ()
    for line in (*text.splitlines(), "[end]"):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("    "):
            words = line.strip()
            if words.startswith(_LATER):
                later = words.removeprefix(_LATER)
            else:
                ids = tuple(words.split())
            continue
        if sentence:
            yield Promise(f"S0 {section}", sentence, ids, later)
        sentence = later = ""
        ids = ()
        if line.startswith("["):
            section = line.strip("[]")
        else:
            sentence = line


PROMISES: tuple[Promise, ...] = tuple(read(_MAP.read_text()))
if not PROMISES:
    message = "the map of the sessions document is empty"
    raise ManifestError(message)
