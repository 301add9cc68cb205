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

MAX_TURNS = 16
"""Turns whose judgements are kept: one of the session's own, and those of its child runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """An allowed call."""

    request: AuthorizationRequest
    keys: frozenset[OneTimeKey] = frozenset()
    note: str = ""
    """How a person let the call run, for its result; empty if nobody was asked."""


class Judgements:
    """By turn and attempt id. Only calls of a turn's last round can still start: others, and those
    of a turn that was given up, are forgotten with the facts they rest on."""

    def __init__(self) -> None:
        self._turns: OrderedDict[TurnId, dict[str, tuple[int, Judgement]]] = OrderedDict()

    def keep(self, turn_id: TurnId, round_index: int, judgement: Judgement) -> None:
        """This call of this round may be started once."""
        before = self._turns.get(turn_id, {})
        kept = {key: item for key, item in before.items() if item[0] >= round_index}
        kept[judgement.request.attempt_id] = (round_index, judgement)
        self._turns[turn_id] = kept
        self._turns.move_to_end(turn_id)
        while len(self._turns) > MAX_TURNS:
            self._turns.popitem(last=False)

    def take(self, turn_id: TurnId, attempt_id: str) -> Judgement | None:
        """The judgement of a call that starts or is judged anew; it is gone afterwards."""
        _, judgement = self._turns.get(turn_id, {}).pop(attempt_id, (0, None))
        return judgement
