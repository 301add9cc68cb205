"""Promises of compaction: how a long conversation stays within the model's window."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "compaction.estimate",
        "decision 76",
        "Token estimates follow the ratio that the last report of the provider taught.",
    ),
)
