"""The one exception of the tools: an outcome other than success, with its sentence."""

from __future__ import annotations

import errno

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


_PASSING = frozenset({errno.EAGAIN, errno.EINTR, errno.EBUSY, errno.ETXTBSY, errno.EMFILE})
"""Refusals that may be over in a moment: the same call may succeed."""


def classify(fault: Exception) -> ToolFault:
    """The outcome that an exception out of a tool is (decision 43).

    The sentence says what is the case; the exception's own text may quote arguments or contents
    and is not part of it.
    """
    if isinstance(fault, ToolFault):
        return fault
    if isinstance(fault, TimeoutError):
        return ToolFault(OutcomeCategory.TIMEOUT, "The tool did not answer in time.")
    if isinstance(fault, ConnectionError):
        return ToolFault(OutcomeCategory.TRANSIENT_FAILURE, "The tool lost its connection.")
    if isinstance(fault, OSError):
        if fault.errno in _PASSING:
            return ToolFault(
                OutcomeCategory.TRANSIENT_FAILURE,
                "The tool failed: the operating system could not do it just now.",
            )
        return ToolFault.failed("The tool failed: the operating system refused an operation.")
    return ToolFault.failed("The tool failed unexpectedly.")
