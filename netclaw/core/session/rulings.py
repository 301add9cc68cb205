"""What authorization decided about one proposed call, as far as the session's rules need it.

The four outcomes are the glossary's "decision". Judging is the shell's part (it needs facts of
the file system); what follows from each outcome is decided in `consent` and `tool_batch`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.session.consent_events import ConsentOption


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


ALLOWED = CallRuling(outcome=Outcome.ALLOWED)
"""The call may run as it stands."""
