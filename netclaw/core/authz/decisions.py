"""The outcome of one authorization, and what the session's rules make of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from netclaw.core.authz.facts import Candidate
from netclaw.core.authz.reasons import (
    CORRECTION_TEXTS,
    DENIED_TEXTS,
    AllowReason,
    Coverage,
    DenyReason,
    RemediationCode,
)
from netclaw.core.session.consent_events import ConsentOption
from netclaw.core.session.rulings import CallRuling, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredCandidate:
    """One candidate and what covers it."""

    candidate: Candidate
    coverage: Coverage
    has_network: bool = False
    """Its coverage opens the network for the call (decision 44)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Exactly one of the four outcomes (glossary "decision").

    `candidates` says for each candidate what covers it, as far as the pipeline got.
    """

    attempt_id: str
    outcome: Outcome
    allow: AllowReason | None = None
    deny: DenyReason | None = None
    way_out: str = ""
    """What the operator could do about a denial, the command in the first line; empty where
    nobody may be told."""
    corrections: tuple[RemediationCode, ...] = ()
    options: tuple[ConsentOption, ...] = ()
    candidates: tuple[CoveredCandidate, ...] = ()
    display: str = ""
    """What a consent request shows, before redaction."""
    has_network: bool = False
    """Whether the call may have the network where the operator leaves that to grants."""

    @property
    def uncovered(self) -> tuple[Candidate, ...]:
        """The candidates that need consent."""
        return tuple(
            covered.candidate for covered in self.candidates if covered.coverage is Coverage.NONE
        )

    @property
    def code(self) -> str:
        """The stable code for logs and `netclaw authorize`."""
        if self.deny is not None:
            return self.deny.value
        if self.allow is not None:
            return self.allow.value
        return "+".join(self.corrections) or "requires_consent"

    @property
    def text(self) -> str:
        """What the model reads when the call does not run; empty otherwise."""
        if self.deny is not None:
            return f"{DENIED_TEXTS[self.deny]}\n{self.way_out}".rstrip()
        return " ".join(CORRECTION_TEXTS[code] for code in self.corrections)


def ruling_of(decision: Decision, redact: Callable[[str], str]) -> CallRuling:
    """The decision as the session's rules take it; shown texts have their secrets removed."""
    return CallRuling(
        outcome=decision.outcome,
        text=redact(decision.text),
        display=redact(decision.display),
        candidates=tuple(redact(candidate.display) for candidate in decision.uncovered),
        options=decision.options,
        attempt_id=decision.attempt_id,
        remediation=decision.corrections[0].value if decision.corrections else None,
    )
