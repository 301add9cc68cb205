"""Background jobs of the in-memory journal: what became of each, and who was told."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import cast

from netclaw.core.ids import CallId, JobId, TurnId
from netclaw.core.session.job_events import JobState
from netclaw.ports.job_records import JobRecord
from netclaw.ports.journal import JournalRow, NewSession
from netclaw.testing.memory_json import Json, text_of

_positions = count(1)


@dataclass(slots=True)
class MemoryJobs:
    """The jobs of one session by id; values are replaced, never changed."""

    by_id: dict[str, JobRecord] = field(default_factory=dict)
    told_in: dict[str, str] = field(default_factory=dict)
    """The turn that tells of a job or lists it."""

    def copy(self) -> MemoryJobs:
        """To work on."""
        return MemoryJobs(dict(self.by_id), dict(self.told_in))

    def follow(self, new: NewSession, row: JournalRow, content: Json) -> None:
        """What an event does to them."""
        match row.type:
            case "JobStarted":
                started = _started(new, row, content)
                self.by_id.setdefault(started.job_id, started)
            case "JobEnded" | "JobReaped":
                self._end(row, content)
            case "JobReported":
                self._tell(text_of(content, "turn_id"), text_of(content, "job_id"))
            case "TurnStarted" if not content.get("is_aside"):
                turn = text_of(content, "turn_id")
                for job in self._untold:
                    if job.state is JobState.REAPED:
                        self._tell(turn, job.job_id)
            case "TurnRecorded" | "TurnFailed":
                is_completed = content.get("outcome") == "completed"
                self._end_turn(text_of(content, "turn_id"), row.at, is_completed=is_completed)
            case "SessionReset":
                self._end_life(row.at)

    @property
    def _untold(self) -> list[JobRecord]:
        return [job for job in self.by_id.values() if job.told_at is None]

    def _end(self, row: JournalRow, content: Json) -> None:
        job = self.by_id.get(text_of(content, "job_id"))
        if job is None or job.ended_at is not None:
            return
        is_reaped = row.type == "JobReaped"
        self.by_id[job.job_id] = replace(
            job,
            state=JobState.REAPED if is_reaped else JobState(text_of(content, "state")),
            exit_code=None if is_reaped else cast("int | None", content.get("exit_code")),
            ended_at=row.at,
        )

    def _tell(self, turn: str, job_id: str) -> None:
        if job_id in self.by_id:
            self.told_in[job_id] = turn

    def _end_turn(self, turn: str, at: int, *, is_completed: bool) -> None:
        for job in self._untold:
            is_told = is_completed or job.state is not JobState.REAPED
            if self.told_in.get(job.job_id) == turn and is_told:
                self.by_id[job.job_id] = replace(job, told_at=at)

    def _end_life(self, at: int) -> None:
        for job in self._untold:
            if job.ended_at is None:
                job = replace(job, state=JobState.REAPED, ended_at=at)
            self.by_id[job.job_id] = replace(job, told_at=at)


def _started(new: NewSession, row: JournalRow, content: Json) -> JobRecord:
    return JobRecord(
        position=next(_positions),
        session_id=new.session_id,
        channel=new.channel,
        job_id=JobId(text_of(content, "job_id")),
        turn_id=TurnId(text_of(content, "turn_id")),
        call_id=CallId(text_of(content, "call_id")),
        command=text_of(content, "command"),
        log_path=text_of(content, "log_path"),
        limit_s=cast("float | None", content.get("limit_s")),
        state=JobState.RUNNING,
        exit_code=None,
        started_at=row.at,
        ended_at=None,
        told_at=None,
    )
