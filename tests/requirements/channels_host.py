"""What the processes of channels promise (issue 7, the adapter host)."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

_ONE = "issue 7 item 1"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="channels.fourth",
        source=_ONE,
        text="A channel of another package is found by its name, and has a kind and sessions of"
        " its own without a word in the core, the tools or the authorization.",
    ),
    Requirement(
        id="channels.contract",
        source=_ONE,
        text="Every channel's driver keeps one contract: threads, ids, failures, keys, buttons,"
        " files and reconnects mean the same on each platform.",
    ),
)
