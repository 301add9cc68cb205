"""Promises of the soak: days of use in minutes, judged by a reader that knows no netclaw."""

from tests.requirements.manifest import Requirement

_ISSUE = "issue 3, Must be shown"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "soak.promises",
        _ISSUE,
        "Under random histories with kills, faults and restarts no session loses an acknowledged"
        " input, runs two turns at once, leaves a call without a result or moves illegally.",
    ),
    Requirement(
        "soak.checker",
        _ISSUE,
        "The checker of the soak accepts a history that keeps every promise and finds each broken"
        " one.",
    ),
    Requirement(
        "soak.independent",
        _ISSUE,
        "The checker of the soak reads the database by itself and shares no code with netclaw.",
    ),
    Requirement(
        "soak.replay",
        _ISSUE,
        "The newest snapshot and the events after it give the state that the whole journal gives.",
    ),
)
