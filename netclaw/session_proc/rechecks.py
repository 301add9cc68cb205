"""Judges calls right before their launch, as the rules ask for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from netclaw.core.session.commands import FinishRecheck, SessionCommand
from netclaw.core.session.effects import RecheckCall
from netclaw.core.session.evolve_consent import find_call
from netclaw.core.session.state import SessionState
from netclaw.ports.tool import GivenConsent
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.judging import CallJudge


class Rechecks:
    """Answers every `RecheckCall` with one `FinishRecheck`, unless its turn is over by then."""

    def __init__(
        self, judge: CallJudge, *, post: Callable[[SessionCommand], None], ending: Ending
    ) -> None:
        self._judge = judge
        self._post = post
        self._ending = ending

    def judge(self, effect: RecheckCall, state: SessionState) -> None:
        """Judge one call; what a person chose for it counts with what they were shown."""
        self._ending.watch(
            asyncio.create_task(self._run(effect, state), name=f"judging of {effect.call.call_id}")
        )

    async def _run(self, effect: RecheckCall, state: SessionState) -> None:
        turn = state.turn
        if turn is None or turn.turn_id != effect.turn_id:
            return
        found = find_call(state, effect.call.call_id)
        asked = found.consent.request if found is not None and found.consent is not None else None
        given = (
            GivenConsent(option=effect.option, request=asked)
            if effect.option is not None and asked is not None
            else None
        )
        ruling = await self._judge.again(turn, state, effect.call, given)
        self._post(FinishRecheck(call_id=effect.call.call_id, ruling=ruling))
