"""Promises of the database and of the journal's payloads."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "store.codec-golden",
        "architecture section 3",
        "Every version of every event, and a snapshot, has golden bytes that decode for ever.",
    ),
    Requirement(
        "store.codec-upcast",
        "architecture section 3",
        "Older versions of an event or a snapshot are lifted to the present one when read.",
    ),
    Requirement(
        "store.codec-unknown",
        "issue 2 item 3",
        "An unknown event, a newer version and a damaged payload are each told apart clearly.",
    ),
)
