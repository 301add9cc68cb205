"""Judges an answer to a consent request before it is made durable.

The session's own rules judge it once more when it takes the answer up (`consent.may_answer`); here
a client learns at once why its answer does not count, and nothing is written.
"""

from __future__ import annotations

from netclaw.core.errors import (
    DeniedByPolicyError,
    InvalidArgumentError,
    NotFoundError,
    NotRequesterError,
)
from netclaw.core.session import sentences
from netclaw.core.session.consent import may_answer
from netclaw.core.session.consent_events import ConsentEffect, ConsentRequest
from netclaw.core.session.events import AnswerAdmitted


def closed_error() -> NotFoundError:
    """For an answer to a request that is not open: unknown, answered, withdrawn, or over."""
    return NotFoundError(
        sentences.PROMPT_CLOSED, fix="See what is open with `netclaw approvals pending`."
    )


def check_answer(request: ConsentRequest, answer: AnswerAdmitted) -> None:
    """Refuse an answer that would not count for this open request (decision 48).

    Raises `DeniedByPolicyError` for a machine, `InvalidArgumentError` for an option that was not
    offered, `NotRequesterError` for anybody whose answer it is not.
    """
    if not answer.principal.is_person:
        raise DeniedByPolicyError("Only a person answers a consent request.")
    option = request.option(answer.option)
    if option is None:
        offered = ", ".join(item.key for item in request.options)
        raise InvalidArgumentError(
            f"This prompt does not offer the option {answer.option!r}.",
            fix=f"Choose one of: {offered}.",
        )
    if may_answer(request, answer, option.effect):
        return
    refusing = (item for item in request.options if item.effect is ConsentEffect.REFUSE)
    open_to_them = [item.key for item in refusing if may_answer(request, answer, item.effect)]
    raise NotRequesterError(
        sentences.NOT_YOUR_PROMPT,
        fix=f"You may refuse it with `{open_to_them[0]}`." if open_to_them else None,
    )
