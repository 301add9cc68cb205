"""What channels promise as a whole: daemon, adapter process, platform and people (issue 7)."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

_SHOWN = "issue 7, Must be shown"
_APPROVALS = "issue 7 item 8"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="channels.torture",
        source=_SHOWN,
        text="Under random kills of adapter, sessions and supervisor every admitted message of a"
        " thread is answered there, once and in order, and no thread sees another one's words.",
    ),
    Requirement(
        id="channels.ledger",
        source="issue 7 item 7",
        text="`netclaw ledger` shows of each message of a thread when it was received and admitted,"
        " what became of it, and whether its answer was delivered.",
    ),
    Requirement(
        id="channels.slack-approval",
        source=_APPROVALS,
        text="In Slack the person who asked lets a command run by a button of one prompt, also"
        " after the adapter and the daemon died; anybody else's and a late press are answered.",
    ),
    Requirement(
        id="channels.slack-child-approval",
        source=_APPROVALS,
        text="What a child run of a Slack thread asks is asked and answered in that thread.",
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
    Requirement(
        id="channels.revoked",
        source="issue 7 item 1",
        text="A token that is revoked while the channel runs, or while it is cut off, ends the"
        " channel with a state that says so, and it is not started again and again.",
    ),
)
