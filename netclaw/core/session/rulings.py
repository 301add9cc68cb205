"""What authorization decided about one proposed call, as far as the session's rules need it.

The four outcomes are the glossary's "decision". Judging is the shell's part (it needs facts of
the file system); what follows from each outcome is decided in `consent` and `tool_batch`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.session.consent_events import ConsentOption
from netclaw.core.tool_call import OutcomeCategory


class Outcome(StrEnum):
    """The authorization outcome of one call."""

    ALLOWED = "allowed"
    REQUIRES_CONSENT = "consent"
    REQUIRES_CORRECTION = "correction"
    DENIED = "denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRuling:
    """One decision: `text` is what the model reads when the call does not run.

    `display`, `candidates` and `options` are those of the consent request to be made; they are
    empty for the other outcomes.
    """

    outcome: Outcome
    text: str = ""
    display: str = ""
    candidates: tuple[str, ...] = ()
    options: tuple[ConsentOption, ...] = ()
    attempt_id: str = ""
    """Identifies this evaluation; it stays the same when the call is judged again after consent."""
    category: OutcomeCategory | None = None
    """How the result of a call that does not run counts; None: as its outcome says."""
    remediation: str | None = None
    """The closed code of bounded advice for the receipt."""
    cwd: str = ""
    """Folder in which a shell command would run; empty for other tools."""


ALLOWED = CallRuling(outcome=Outcome.ALLOWED)
"""The call may run as it stands."""
