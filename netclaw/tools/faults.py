"""The one exception of the tools: an outcome other than success, with its sentence."""

from __future__ import annotations

from netclaw.core.authz.reasons import RemediationCode
from netclaw.core.tool_call import OutcomeCategory

Remediation = RemediationCode
"""Closed codes of bounded advice (glossary "remediation code"); the presenter words them."""


class ToolFault(Exception):
    """Raised by a tool that has nothing but a reason to give.

    The sentence goes to the model: what is the case and what to do instead, never an exception
    text or a path the model did not name itself.
    """

    def __init__(
        self,
        category: OutcomeCategory,
        sentence: str,
        *,
        remediation: Remediation | None = None,
    ) -> None:
        super().__init__(sentence)
        self.category = category
        self.sentence = sentence
        self.remediation = remediation

    @classmethod
    def invalid(cls, sentence: str) -> ToolFault:
        """The call itself is wrong."""
        return cls(OutcomeCategory.INVALID_INPUT, sentence)

    @classmethod
    def denied(cls, sentence: str, *, remediation: Remediation | None = None) -> ToolFault:
        """The call is understood and not allowed."""
        return cls(OutcomeCategory.ACCESS_DENIED, sentence, remediation=remediation)

    @classmethod
    def missing(cls, sentence: str) -> ToolFault:
        """What the call names does not exist."""
        return cls(OutcomeCategory.NOT_FOUND, sentence)

    @classmethod
    def correction(cls, sentence: str, *, remediation: Remediation | None = None) -> ToolFault:
        """A call the model can mend by following the sentence."""
        return cls(OutcomeCategory.RECOVERABLE_CORRECTION, sentence, remediation=remediation)

    @classmethod
    def failed(cls, sentence: str) -> ToolFault:
        """The tool tried and could not."""
        return cls(OutcomeCategory.FAILURE, sentence)
