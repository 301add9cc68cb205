"""The promise map of the document about awareness of session state, and what only it promises.

The sentences are in `state_document.txt`, a section after the other; see `promises_in`.
"""

from __future__ import annotations

from pathlib import Path

from tests.requirements.manifest import Promise, Requirement, promises_in

_SOURCE = "state awareness"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "signals.no-text",
        f"{_SOURCE}, The signal log",
        "Neither the log nor its marks nor what is shown of them hold a word of any message.",
    ),
    Requirement(
        "signals.watch-expires",
        f"{_SOURCE}, Watchers",
        "A watch of which nothing was heard for as long as the log is kept is gone, and watching"
        " again keeps it.",
    ),
    Requirement(
        "signals.readopted",
        f"{_SOURCE}, Watchers",
        "A transcript that was missing is looked at again once it is adopted again.",
    ),
    Requirement(
        "signals.nested-not-woken",
        f"{_SOURCE}, Notices",
        "A child run that watches is told in its next turn and is started for no notice.",
    ),
    Requirement(
        "signals.own-changes",
        f"{_SOURCE}, Notices",
        "What a session changed itself opens no notice for it, and is in the changes it asks for.",
    ),
    Requirement(
        "signals.gap-advice",
        "decision 61",
        "An answer with a gap says that the whole state is to be read anew.",
    ),
    Requirement(
        "signals.limits",
        f"{_SOURCE}, Storage and limits",
        "Unless configured otherwise the log keeps 30 days and 50,000 rows, and neither can be"
        " turned off.",
    ),
    Requirement(
        "signals.compacted",
        f"{_SOURCE}, Storage and limits",
        "A compaction of a session is one event, which notifies nobody.",
    ),
    Requirement(
        "signals.only-adopted",
        f"{_SOURCE}, Storage and limits",
        "A transcript is read only if it was adopted and somebody watches its session.",
    ),
    Requirement(
        "signals.adopted-twice",
        "decision 60",
        "A transcript that two sessions adopted tells of nothing in either.",
    ),
)

_MAP = Path(__file__).with_suffix(".txt")

PROMISES: tuple[Promise, ...] = tuple(promises_in(_MAP.read_text(), _SOURCE))
