"""Promises of the documents that need a running daemon to be shown."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "docs.client-runs",
        "issue 2 item 2",
        "The short client printed in the developer pages streams an answer from a real daemon.",
    ),
)
