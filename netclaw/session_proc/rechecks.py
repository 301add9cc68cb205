"""Judges calls right before their launch, as the rules ask for it."""

from __future__ import annotations

from collections.abc import Callable

from netclaw.core.session.commands import FinishRecheck, SessionCommand
from netclaw.core.session.effects import RecheckCall
from netclaw.core.session.rulings import ALLOWED, CallRuling, Outcome

NO_AUTHORIZER = CallRuling(
    outcome=Outcome.DENIED,
    text="Denied: consent was given, but nothing here can judge the call again. It was not run.",
)


class Rechecks:
    """Answers every `RecheckCall` with one `FinishRecheck`.

    This process has no authorizer: it lets calls through as they are proposed, so it asks for
    consent to none. A call that carries one all the same was ruled on by a program that had an
    authorizer, and is denied.
    """

    def __init__(self, post: Callable[[SessionCommand], None]) -> None:
        self._post = post

    def judge(self, effect: RecheckCall) -> None:
        """Judge one call."""
        ruling = ALLOWED if effect.option is None else NO_AUTHORIZER
        self._post(FinishRecheck(call_id=effect.call.call_id, ruling=ruling))
