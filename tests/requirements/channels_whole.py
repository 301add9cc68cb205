"""What channels promise as a whole: daemon, adapter process, platform and people (issue 7)."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

_SHOWN = "issue 7, Must be shown"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="channels.torture",
        source=_SHOWN,
        text="Under random kills of adapter, sessions and supervisor every admitted message of a"
        " thread is answered there, once and in order, and no thread sees another one's words.",
    ),
    Requirement(
        id="channels.disabled-listed",
        source="reference surface 3",
        text="Status lists a channel that is configured and not enabled as disabled, and no process"
        " runs for it.",
    ),
    Requirement(
        id="channels.log-level",
        source="issue 7 item 1",
        text="Adapters log by the level of the daemon's log.",
    ),
)
