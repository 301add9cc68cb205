"""What a client is told of an answer that would not count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Authority
from netclaw.core.errors import (
    DeniedByPolicyError,
    ErrorCode,
    InvalidArgumentError,
    NetclawError,
    NotRequesterError,
)
from netclaw.core.ids import CallId
from netclaw.core.session import sentences
from netclaw.core.session.answer_admission import check_answer, closed_error
from netclaw.core.session.consent_events import ConsentEffect, ConsentRequest
from netclaw.core.session.events import AnswerAdmitted
from netclaw.testing.people import ALICE, BOB, OPERATOR, REMINDER
from netclaw.testing.story import NEEDS_CONSENT


def asked(by: Authority) -> ConsentRequest:
    """A request."""
    return ConsentRequest(
        call_id=CallId("c1"),
        tool="shell_execute",
        display="ls",
        candidates=("ls",),
        options=NEEDS_CONSENT.options,
        requester=by.requester,
    )


def says(option: str, by: Authority) -> AnswerAdmitted:
    """An answer."""
    return AnswerAdmitted(
        call_id=CallId("c1"),
        option=option,
        answerer=by.requester.sender_id or "",
        boundary=by.requester.boundary,
        principal=by.requester.principal,
    )


@pytest.mark.requirement("approvals.who")
@pytest.mark.parametrize(
    ("asker", "option", "by", "code"),
    [
        (ALICE, "once", ALICE, None),
        (ALICE, "refuse", ALICE, None),
        (ALICE, "once", BOB, ErrorCode.NOT_REQUESTER),
        (ALICE, "refuse", BOB, ErrorCode.NOT_REQUESTER),
        (ALICE, "once", OPERATOR, ErrorCode.NOT_REQUESTER),
        (ALICE, "refuse", OPERATOR, None),
        (ALICE, "once", REMINDER, ErrorCode.DENIED_BY_POLICY),
        (REMINDER, "once", BOB, None),
        (REMINDER, "refuse", REMINDER, ErrorCode.DENIED_BY_POLICY),
        (OPERATOR, "once", OPERATOR, None),
        (OPERATOR, "twice", OPERATOR, ErrorCode.INVALID_ARGUMENT),
    ],
)
def test_who_may_say_what(
    asker: Authority, option: str, by: Authority, code: ErrorCode | None
) -> None:
    found = None
    try:
        check_answer(asked(asker), says(option, by))
    except NetclawError as error:
        found = error.code
    assert found is code


@pytest.mark.requirement("approvals.refused")
def test_a_refusal_says_what_can_be_done() -> None:
    with pytest.raises(NotRequesterError) as caught:
        check_answer(asked(ALICE), says("once", OPERATOR))
    assert caught.value.fix == "You may refuse it with `refuse`."
    with pytest.raises(NotRequesterError) as caught:
        check_answer(asked(ALICE), says("once", BOB))
    assert caught.value.fix == NotRequesterError.default_fix
    without = tuple(item for item in NEEDS_CONSENT.options if item.effect is ConsentEffect.APPROVE)
    with pytest.raises(NotRequesterError) as caught:
        check_answer(replace(asked(ALICE), options=without), says("once", OPERATOR))
    assert caught.value.fix == NotRequesterError.default_fix
    with pytest.raises(InvalidArgumentError, match="does not offer"):
        check_answer(asked(ALICE), says("A", ALICE))
    with pytest.raises(DeniedByPolicyError):
        check_answer(asked(ALICE), says("once", REMINDER))


@pytest.mark.requirement("approvals.stale")
def test_a_closed_prompt_has_one_sentence() -> None:
    assert closed_error().sentence == sentences.PROMPT_CLOSED
    assert closed_error().code is ErrorCode.NOT_FOUND
