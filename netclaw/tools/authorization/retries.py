"""Remembers which calls were advised to use the run's own temporary folder, for their repetition.

The advice names what to do; a call that is then repeated exactly means what it says, and is asked
for, once only (reference 6). Nothing of this is stored: after a restart the advice comes again.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import TypeVar

from netclaw.core.authz.decide import decide
from netclaw.core.authz.grants import OneTimeKey
from netclaw.core.authz.reasons import RemediationCode
from netclaw.core.authz.requests import AuthorizationRequest, ShellCall
from netclaw.core.ids import TurnId
from netclaw.tools.authorization.authorizer import Evaluation

K = TypeVar("K")
V = TypeVar("V")

Round = tuple[TurnId, int]
"""The round a call was written in: what it was told is read in a later one."""

MAX_CALLS = 64
"""Of each kind; the oldest are forgotten, which costs a repetition of the advice."""


class TemporaryRetries:
    """One key for each advice: exactly the call, in its folder; the first repetition takes it."""

    def __init__(self) -> None:
        self._armed: OrderedDict[OneTimeKey, Round] = OrderedDict()
        self._taken: OrderedDict[str, None] = OrderedDict()

    def settle(self, found: Evaluation, at: Round, *, is_consented: bool) -> Evaluation:
        """The evaluation that counts: judged without the advice where it was read before.

        A repetition stays one for as long as it is judged again under its attempt id. One that a
        person has let run was asked for, so its advice was read, whichever process gave it.
        """
        if RemediationCode.USE_MANAGED_TEMPORARY_DIRECTORY not in found.decision.corrections:
            return found
        if is_consented or self._is_retry(found.request, at):
            return _without_advice(found)
        return found

    def _is_retry(self, request: AuthorizationRequest, at: Round) -> bool:
        if request.attempt_id in self._taken:
            return True
        armed = self._armed.get(request.key)
        if armed is None or armed == at:
            _remember(self._armed, request.key, at)
            return False
        del self._armed[request.key]
        _remember(self._taken, request.attempt_id, None)
        return True


def _without_advice(found: Evaluation) -> Evaluation:
    call = found.request.call
    if not isinstance(call, ShellCall):
        return found
    request = replace(found.request, call=replace(call, is_temporary_retry=True))
    decision = decide(request, found.policy, found.consents)
    return replace(found, request=request, decision=decision)


def _remember(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > MAX_CALLS:
        kept.popitem(last=False)
