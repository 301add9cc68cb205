"""Child runs of the in-memory journal: what became of each, and who was told."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count

from netclaw.core.ids import CallId, RunId, SessionId, TurnId
from netclaw.core.session.child_events import ChildState
from netclaw.ports.child_records import ChildRecord
from netclaw.ports.journal import JournalRow, NewSession
from netclaw.testing.memory_json import Json, text_of

_positions = count(1)
_MOVES = {
    "ChildStarted": ChildState.RUNNING,
    "ChildParked": ChildState.PARKED,
    "ChildResumed": ChildState.RUNNING,
    "ChildCancelAdmitted": ChildState.CANCELLING,
}


@dataclass(slots=True)
class MemoryRuns:
    """The runs of one session by id; values are replaced, never changed."""

    by_id: dict[str, ChildRecord] = field(default_factory=dict)
    told_in: dict[str, str] = field(default_factory=dict)
    """The turn that tells of a run."""

    def copy(self) -> MemoryRuns:
        """To work on."""
        return MemoryRuns(dict(self.by_id), dict(self.told_in))

    def follow(self, new: NewSession, row: JournalRow, content: Json) -> None:
        """What an event does to them."""
        match row.type:
            case "ChildAccepted":
                accepted = _accepted(new, row, content)
                self.by_id.setdefault(accepted.run_id, accepted)
            case "ChildEnded":
                self._end(row, content)
            case "ChildResultDelivered":
                self._tell(text_of(content, "run_id"), text_of(content, "turn_id"))
            case "TurnRecorded" | "TurnFailed":
                self._end_turn(text_of(content, "turn_id"), row.at)
            case "SessionReset":
                self._end_life(row.at)
            case _ if row.type in _MOVES:
                self._move(text_of(content, "run_id"), _MOVES[row.type])

    @property
    def _untold(self) -> list[ChildRecord]:
        return [run for run in self.by_id.values() if run.told_at is None]

    def _move(self, run_id: str, state: ChildState) -> None:
        run = self.by_id.get(run_id)
        if run is not None and run.ended_at is None and run.state is not ChildState.CANCELLING:
            self.by_id[run_id] = replace(run, state=state)

    def _tell(self, run_id: str, turn: str) -> None:
        run = self.by_id.get(run_id)
        if run is not None and run.told_at is None:
            self.told_in[run_id] = turn

    def _end(self, row: JournalRow, content: Json) -> None:
        run = self.by_id.get(text_of(content, "run_id"))
        if run is not None and run.ended_at is None:
            self.by_id[run.run_id] = replace(
                run,
                state=ChildState(text_of(content, "state")),
                reason=text_of(content, "reason"),
                result_path=text_of(content, "result_path"),
                ended_at=row.at,
            )

    def _end_turn(self, turn: str, at: int) -> None:
        for run in self._untold:
            if self.told_in.get(run.run_id) == turn:
                self.by_id[run.run_id] = replace(run, told_at=at)

    def _end_life(self, at: int) -> None:
        for run in self._untold:
            if run.ended_at is None:
                run = replace(run, state=ChildState.LOST, reason="parent_reset", ended_at=at)
            self.by_id[run.run_id] = replace(run, told_at=at)


def _accepted(new: NewSession, row: JournalRow, content: Json) -> ChildRecord:
    return ChildRecord(
        position=next(_positions),
        session_id=new.session_id,
        channel=new.channel,
        run_id=RunId(text_of(content, "run_id")),
        child=SessionId(text_of(content, "session_id")),
        agent=text_of(content, "agent"),
        turn_id=TurnId(text_of(content, "turn_id")),
        call_id=CallId(text_of(content, "call_id")),
        seq=row.seq,
        state=ChildState.ACCEPTED,
        reason="",
        result_path="",
        start=0,
        accepted_at=row.at,
        ended_at=None,
        told_at=None,
    )
