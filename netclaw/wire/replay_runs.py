"""Makes again what subscribers were told of child runs, from the events of their parent."""

from __future__ import annotations

from netclaw.core.ids import RunId
from netclaw.core.session import child_events as ev
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.events import SessionEvent
from netclaw.core.session.outputs import ChildOutput

SHOWN = frozenset(
    {
        *("ChildAccepted", "ChildStarted", "ChildParked", "ChildResumed"),
        *("ChildCancelAdmitted", "ChildEnded"),
    }
)
"""Types of the events that make one output each."""


class RunReplay:
    """Remembers of each run its agent, and whether it is being cancelled.

    Of a run that was accepted before the first event that is fed, the agent is not known.
    """

    def __init__(self) -> None:
        self._agents: dict[RunId, str] = {}
        self._cancelling: set[RunId] = set()

    def of(self, event: SessionEvent) -> tuple[ChildOutput, ...]:
        """The output of one event; none if it is of another kind."""
        match event:
            case ev.ChildAccepted():
                self._agents[event.run_id] = event.agent
                return (self._shown(event.run_id, ChildState.ACCEPTED),)
            case ev.ChildEnded():
                shown = ChildOutput(
                    run_id=event.run_id,
                    agent=self._agents.pop(event.run_id, ""),
                    state=event.state,
                    reason=event.reason,
                    result_path=event.result_path,
                )
                self._cancelling.discard(event.run_id)
                return (shown,)
            case ev.ChildStarted() | ev.ChildResumed():
                return (self._shown(event.run_id, ChildState.RUNNING),)
            case ev.ChildParked():
                return (self._shown(event.run_id, ChildState.PARKED),)
            case ev.ChildCancelAdmitted():
                self._cancelling.add(event.run_id)
                return (self._shown(event.run_id, ChildState.CANCELLING),)
            case _:
                return ()

    def _shown(self, run_id: RunId, state: ChildState) -> ChildOutput:
        is_cancelling = run_id in self._cancelling
        return ChildOutput(
            run_id=run_id,
            agent=self._agents.get(run_id, ""),
            state=ChildState.CANCELLING if is_cancelling else state,
        )
