"""Mistakes that a daemon of this kind has made before: the right behaviour, one sentence each.

The numbers are those of the list the project keeps of such mistakes.
"""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "upstream.rename-over-edit",
        "bug class 9",
        "An edit made by writing a new file and renaming it over the old one is noticed.",
    ),
    Requirement(
        "upstream.secret-is-no-restart",
        "bug class 10",
        "A renewed key, a client's file and a write that changes nothing restart no daemon.",
    ),
)
