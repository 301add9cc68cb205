"""Channels as one tool call may use them: what it asks the supervisor over the stream."""

from __future__ import annotations

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, TurnId
from netclaw.ports.channels import (
    Hits,
    NameQuestion,
    PostOrder,
    PostQuestion,
    PostReport,
    Wanted,
)
from netclaw.ports.sessions import Asking
from netclaw.session_proc.asks import ANSWER_S, Asks
from netclaw.wire import channels as said

LOOKUP_S = 60.0
"""A platform with many people takes its time."""


class CallChannels:
    """The `Channels` port of one call."""

    def __init__(
        self, asks: Asks, *, call_id: CallId, turn_id: TurnId, authority: Authority
    ) -> None:
        self._asks = asks
        self._call_id = call_id
        self._asking = Asking(turn_id=turn_id, authority=authority)

    async def post(self, *, channel: str, destination: str, text: str) -> PostReport:
        """See `Channels`.

        Waited for without a limit: an answer that was given up would leave open whether the message
        is kept.
        """
        order = PostOrder(
            asking=self._asking,
            call_id=self._call_id,
            channel=channel,
            destination=destination,
            text=text,
        )
        answer = await self._asks.ask(said.ASK_POST, said.encode(order), limit_s=None)
        return said.decode(answer, PostReport)

    async def wait(self, patience_s: float) -> PostReport:
        """See `Channels`."""
        question = PostQuestion(call_id=self._call_id, patience_s=patience_s)
        answer = await self._asks.ask(
            said.ASK_POSTED, said.encode(question), limit_s=patience_s + ANSWER_S
        )
        return said.decode(answer, PostReport)

    async def find(self, *, channel: str, wanted: Wanted, text: str) -> Hits:
        """See `Channels`."""
        question = NameQuestion(asking=self._asking, channel=channel, wanted=wanted, text=text)
        answer = await self._asks.ask(said.ASK_NAME, said.encode(question), limit_s=LOOKUP_S)
        return said.decode(answer, Hits)
