"""The child runs of a session as one tool call may use them."""

from __future__ import annotations

from collections.abc import Callable

from netclaw.core.agents import AgentBook
from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, DispatchToken, RunId
from netclaw.core.session import child_control
from netclaw.core.session.child_commands import AcceptChild, CancelChild
from netclaw.core.session.child_effects import CancelAnswer
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.state import SessionState
from netclaw.core.settings import SessionStorage
from netclaw.core.storage_layout import child_run_dir
from netclaw.ports.agents import AcceptedRun, RunView
from netclaw.session_proc.children import Children
from netclaw.session_proc.run_freezing import RunFreezing


class CallAgents:
    """The `Agents` port of one call."""

    def __init__(
        self,
        part: Children,
        freezing: RunFreezing,
        *,
        call_id: CallId,
        token: DispatchToken,
        authority: Authority,
        storage: SessionStorage,
        look: Callable[[], SessionState],
    ) -> None:
        self._part = part
        self._freezing = freezing
        self._call_id = call_id
        self._token = token
        self._authority = authority
        self._storage = storage
        self._look = look

    async def book(self) -> AgentBook:
        """See `Agents`."""
        return await self._freezing.book()

    async def spawn(self, *, agent: str, task: str, digest: str) -> AcceptedRun:
        """See `Agents`."""
        answer = self._part.expect_spawn(self._token)
        self._part.post(
            AcceptChild(
                token=self._token, call_id=self._call_id, agent=agent, task=task, digest=digest
            )
        )
        return await answer

    async def look(self, run_id: RunId) -> RunView | None:
        """See `Agents`."""
        run = child_control.find(self._look(), run_id)
        if run is None or not child_control.may_control(run, self._authority):
            return None
        folder = SessionStorage(
            home=self._storage.home, root=child_run_dir(self._storage.root, run_id), tmp=""
        )
        ended = run.ended
        return RunView(
            run_id=run_id,
            agent=run.accepted.agent,
            state=run.state,
            reason=ended.reason if ended else "",
            is_cancel_admitted=run.state is ChildState.CANCELLING
            or (ended is not None and ended.reason == child_control.CANCELLED_BY_PARENT),
            is_dispatch_closed=run.is_dispatch_closed,
            log_path=folder.log_file,
            artifact_dir=folder.artifacts,
            result_path=ended.result_path if ended else "",
        )

    async def cancel(self, run_id: RunId) -> bool:
        """See `Agents`."""
        answer = self._part.expect_cancel(run_id, self._call_id)
        self._part.post(CancelChild(run_id=run_id, actor=self._call_id, authority=self._authority))
        return await answer is not CancelAnswer.NOT_FOUND
