"""A restart of the daemon: what is noticed, what stops, what goes on (S0 "Recovery and restart")."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "restart.deadline",
        "issue 3 item 9",
        "A turn stopped after a batch goes on by itself within ten minutes of its first stop; then"
        " it ends with the notice and one warning, and a second stop gives it no more time.",
    ),
    Requirement(
        "restart.continuity",
        "issue 3 item 9",
        "The first turn after a stop is told of it once, in a line that never becomes history.",
    ),
    Requirement(
        "restart.twice",
        "issue 3 item 9",
        "A turn survives two restarts in a row with one answer and no call run twice.",
    ),
)
