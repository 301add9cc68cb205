"""Has the calls of a model judged before the rules see them, and calls to be launched once more.

Judging needs facts of the host and takes a few milliseconds; it never holds the loop. A call that
cannot be judged in time does not run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from netclaw.core.authz.reasons import DENIED_TEXTS, DenyReason
from netclaw.core.ids import CallId
from netclaw.core.session.commands import ProposedCall
from netclaw.core.session.rulings import CallRuling, Outcome
from netclaw.core.session.state import OpenTurn, SessionState
from netclaw.core.tool_call import ToolCall
from netclaw.ports.model import WrittenCall
from netclaw.ports.tool import GivenConsent, ToolRunner
from netclaw.session_proc.ids import new_attempt_id
from netclaw.session_proc.tool_context import ToolContexts

_log = logging.getLogger(__name__)

JUDGE_S = 30.0
"""How long one judgement may take: a folder that does not answer must not hold a turn for ever."""


class CallJudge:
    """Every judgement of this process goes through here, each under its time limit."""

    def __init__(self, runner: ToolRunner, contexts: ToolContexts) -> None:
        self._runner = runner
        self._contexts = contexts

    async def proposed(
        self, turn: OpenTurn, state: SessionState, calls: Sequence[WrittenCall]
    ) -> tuple[ProposedCall, ...]:
        """The calls of one response, each with its ruling and a new attempt id.

        `turn` and `state` are those that the model call was made from: nothing that a judgement
        depends on changes while a model is asked.
        """
        judged = []
        for written in calls:
            call = ToolCall(
                call_id=CallId(""),  # it has none yet, and needs none to be judged
                provider_call_id=written.provider_call_id,
                name=written.name,
                arguments=written.arguments,
                argument_fault=written.fault,
                attempt_id=new_attempt_id(),
            )
            judged.append(
                ProposedCall(
                    provider_call_id=written.provider_call_id,
                    name=written.name,
                    arguments=written.arguments,
                    ruling=await self._judge(turn, state, call, None),
                    fault=written.fault,
                )
            )
        return tuple(judged)

    async def again(
        self, turn: OpenTurn, state: SessionState, call: ToolCall, given: GivenConsent | None
    ) -> CallRuling:
        """The ruling of a call that is about to be launched, under the attempt id it has."""
        return await self._judge(turn, state, call, given)

    async def _judge(
        self, turn: OpenTurn, state: SessionState, call: ToolCall, given: GivenConsent | None
    ) -> CallRuling:
        context = self._contexts.of(turn, state)
        try:
            async with asyncio.timeout(JUDGE_S):
                return await self._runner.judge(call, context, given=given)
        except TimeoutError:
            _log.warning(
                "a call could not be judged within %g seconds: reason=%s attempt=%s",
                JUDGE_S,
                DenyReason.INTERNAL.value,
                call.attempt_id,
            )
            return CallRuling(
                outcome=Outcome.DENIED,
                text=DENIED_TEXTS[DenyReason.INTERNAL],
                attempt_id=call.attempt_id,
            )
