"""Other sessions as one tool call may use them: what it asks the supervisor over the stream."""

from __future__ import annotations

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, TurnId
from netclaw.core.session.goal_events import GoalStatus
from netclaw.ports.sessions import (
    Asking,
    GoalQuestion,
    GoalView,
    HistoryQuestion,
    ListQuestion,
    SendOrder,
    SendReport,
    StatusQuestion,
    StatusView,
    WaitQuestion,
)
from netclaw.session_proc.asks import ANSWER_S, Asks
from netclaw.wire import sessions as said


class CallSessions:
    """The `Sessions` port of one call."""

    def __init__(
        self, asks: Asks, *, call_id: CallId, turn_id: TurnId, authority: Authority
    ) -> None:
        self._asks = asks
        self._call_id = call_id
        self._asking = Asking(turn_id=turn_id, authority=authority)

    @property
    def asking(self) -> Asking:
        """See `Sessions`."""
        return self._asking

    async def status(self, key: str, *, since: int | None) -> StatusView:
        """See `Sessions`."""
        question = StatusQuestion(asking=self._asking, key=key, since=since)
        return said.decode(await self._ask(said.ASK_STATUS, question), StatusView)

    async def listed(self, question: ListQuestion) -> str:
        """See `Sessions`."""
        return (await self._ask(said.ASK_LIST, question)).decode()

    async def history(self, question: HistoryQuestion) -> str:
        """See `Sessions`."""
        return (await self._ask(said.ASK_HISTORY, question)).decode()

    async def send(self, *, key: str, label: str, message: str, watch: bool) -> SendReport:
        """See `Sessions`.

        Waited for without a limit: an answer that was given up would leave open whether the message
        was sent.
        """
        order = SendOrder(
            asking=self._asking,
            call_id=self._call_id,
            message=message,
            key=key,
            label=label,
            watch=watch,
        )
        answer = await self._asks.ask(said.ASK_SEND, said.encode(order), limit_s=None)
        return said.decode(answer, SendReport)

    async def wait(self, patience_s: float) -> SendReport:
        """See `Sessions`."""
        question = WaitQuestion(call_id=self._call_id, patience_s=patience_s)
        limit_s = patience_s + ANSWER_S
        answer = await self._asks.ask(said.ASK_WAIT, said.encode(question), limit_s=limit_s)
        return said.decode(answer, SendReport)

    async def goal(
        self, key: str, *, create: str | None = None, status: GoalStatus | None = None
    ) -> GoalView:
        """See `Sessions`."""
        question = GoalQuestion(asking=self._asking, key=key, create=create, status=status)
        return said.decode(await self._ask(said.ASK_GOAL, question), GoalView)

    async def _ask(self, kind: str, question: said.Said) -> bytes:
        return await self._asks.ask(kind, said.encode(question))
