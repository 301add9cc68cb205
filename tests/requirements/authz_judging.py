"""Promises of judging calls in a session process."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "authz.attempt",
        "reference 1, step 11",
        "A proposed call gets an authorization attempt id that stays through consent, recheck and "
        "launch; a call of the model's own gets a new one.",
    ),
    Requirement(
        "authz.judging-bounded",
        "decision 86",
        "Judging never holds the session's loop, and a judgement that does not end denies.",
    ),
)
