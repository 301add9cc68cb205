"""What a model, a judge and people say to the session of the state machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, DispatchToken
from netclaw.core.messages import Usage
from netclaw.core.session import commands as c
from netclaw.core.session.events import AnswerAdmitted
from netclaw.core.session.rulings import ALLOWED, CallRuling, Outcome
from netclaw.testing.story import NEEDS_CONSENT, SHELL

RULINGS = (ALLOWED, NEEDS_CONSENT, CallRuling(outcome=Outcome.DENIED, text="No."))


def proposed(ruling: CallRuling) -> c.ProposedCall:
    """A call with this ruling, which its arguments tell the checker too."""
    arguments = json.dumps({"ruling": ruling.outcome.value})
    return replace(SHELL, arguments=arguments, ruling=ruling)


def finish(
    token: DispatchToken,
    text: str = "",
    *,
    calls: int = 0,
    faulty: int = 0,
    tokens: int = 10,
    rulings: Sequence[CallRuling] = (),
) -> c.FinishRound:
    """The end of a model call."""
    good = tuple(proposed(ruling) for ruling in (*[ALLOWED] * calls, *rulings))
    bad = tuple(replace(SHELL, fault="Nonsense.") for _ in range(faulty))
    proposals = tuple(replace(call, provider_call_id=f"c{n}") for n, call in enumerate(good + bad))
    return c.FinishRound(
        token=token,
        text=text,
        thinking="hm",
        calls=proposals,
        finish=c.FinishReason.TOOL_CALLS if proposals else c.FinishReason.STOP,
        usage=Usage(input_tokens=tokens, output_tokens=1),
        model="m",
    )


def answer_of(call_id: CallId, option: str, by: Authority) -> AnswerAdmitted:
    """An answer of this sender."""
    return AnswerAdmitted(
        call_id=call_id,
        option=option,
        answerer=by.requester.sender_id or "",
        boundary=by.requester.boundary,
        principal=by.requester.principal,
    )
