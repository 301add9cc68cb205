"""Promises of the documents that need a running daemon to be shown."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "docs.client-runs",
        "issue 2 item 2",
        "The short client printed in the developer pages streams an answer from a real daemon.",
    ),
    Requirement(
        "docs.channel-sentences",
        "issue 7 item 7",
        "What the operator's pages quote of `status` and `doctor` about a channel is what they"
        " say.",
    ),
)
