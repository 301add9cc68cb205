"""Remembers which calls this process judged as allowed and may therefore start, once each.

Kept in memory alone: a process that did not judge a call starts nothing (fail closed), and a
one-time key dies with the process that was given it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from netclaw.core.authz.grants import OneTimeKey
from netclaw.core.authz.requests import AuthorizationRequest
from netclaw.core.ids import TurnId

MAX_TURNS = 64
"""Turns whose judgements are kept: one of the session's own, and those of its child runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """An allowed call."""

    request: AuthorizationRequest
    keys: frozenset[OneTimeKey] = frozenset()
    note: str = ""
    """How a person let the call run, for its result; empty if nobody was asked."""


class Judgements:
    """By turn and attempt id. Calls of a turn that was given up are forgotten in time."""

    def __init__(self) -> None:
        self._turns: OrderedDict[TurnId, dict[str, Judgement]] = OrderedDict()

    def keep(self, turn_id: TurnId, judgement: Judgement) -> None:
        """This call may be started once."""
        self._turns.setdefault(turn_id, {})[judgement.request.attempt_id] = judgement
        self._turns.move_to_end(turn_id)
        while len(self._turns) > MAX_TURNS:
            self._turns.popitem(last=False)

    def drop(self, turn_id: TurnId, attempt_id: str) -> None:
        """What was judged before counts no longer."""
        self._turns.get(turn_id, {}).pop(attempt_id, None)

    def take(self, turn_id: TurnId, attempt_id: str) -> Judgement | None:
        """The judgement of a call that starts now; it is gone afterwards."""
        return self._turns.get(turn_id, {}).pop(attempt_id, None)
