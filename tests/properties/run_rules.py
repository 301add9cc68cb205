"""What must hold of child runs and jobs in any journal, checked without the code under test."""

from __future__ import annotations

from dataclasses import dataclass, field

from netclaw.core.authority import Authority
from netclaw.core.session import child_events as ch
from netclaw.core.session import consent_events as co
from netclaw.core.session import events as ev
from netclaw.core.session import job_events as jo


@dataclass
class Told:
    """The checker's own idea of a run or job."""

    authority: Authority
    is_over: bool = False
    is_reaped: bool = False
    is_cancelling: bool = False
    told_in: str | None = None


@dataclass
class RunRules:
    """Raises AssertionError at the first row that breaks a promise."""

    runs: dict[str, Told] = field(default_factory=dict)
    jobs: dict[str, Told] = field(default_factory=dict)
    asking: dict[str, str] = field(default_factory=dict)
    """Open requests of runs: call to run."""
    turn: ev.TurnStarted | None = None
    tells: int = 0
    """Results that the open turn tells of."""

    def check(self, event: ev.SessionEvent) -> None:
        """Take the next event."""
        handler = getattr(self, f"_{type(event).__name__}", None)
        if handler is not None:
            handler(event)

    def _TurnStarted(self, event: ev.TurnStarted) -> None:
        is_person = event.authority.is_of_person
        if self.asking:
            assert is_person, "automated input ran in the pause"
            assert event.input_ids, "a result was told in the pause"
        self.turn, self.tells = event, 0

    def _end(self) -> None:
        assert self.turn is not None
        assert self.turn.input_ids or self.tells, "a turn for nothing"
        self.turn = None

    def _TurnRecorded(self, event: ev.TurnRecorded) -> None:
        told = [run for run, known in self.runs.items() if known.told_in is not None]
        assert set(event.open_child_runs) == set(self.runs) - set(told), "wrong open runs"
        self._end()

    def _TurnFailed(self, event: ev.TurnFailed) -> None:
        del event
        self._end()

    def _ChildAccepted(self, event: ch.ChildAccepted) -> None:
        assert not self.asking, "a run was accepted in the pause"
        assert self.turn is not None
        assert event.run_id not in self.runs
        assert event.authority == self.turn.authority
        self.runs[event.run_id] = Told(event.authority)

    def _ChildResumed(self, event: ch.ChildResumed) -> None:
        assert event.run_id not in self.asking.values(), "a run went on before its answers"
        assert not self.runs[event.run_id].is_over

    def _ChildCancelAdmitted(self, event: ch.ChildCancelAdmitted) -> None:
        run = self.runs[event.run_id]
        assert not run.is_over
        assert not run.is_cancelling
        run.is_cancelling = True

    def _ChildEnded(self, event: ch.ChildEnded) -> None:
        run = self.runs[event.run_id]
        assert not run.is_over, "a run ended twice"
        assert event.run_id not in self.asking.values(), "a run ended with an open request"
        assert event.state.is_terminal
        is_cancelled = event.reason == "CancelledByParent"
        assert is_cancelled == run.is_cancelling, "what came second won"
        run.is_over = True

    def _ChildResultDelivered(self, event: ch.ChildResultDelivered) -> None:
        self._tell(self.runs[event.run_id], event.turn_id)

    def _JobStarted(self, event: jo.JobStarted) -> None:
        assert event.job_id not in self.jobs
        self.jobs[event.job_id] = Told(event.authority)

    def _JobEnded(self, event: jo.JobEnded) -> None:
        job = self.jobs[event.job_id]
        assert not job.is_over, "a job ended twice"
        job.is_over = True

    def _JobReaped(self, event: jo.JobReaped) -> None:
        job = self.jobs[event.job_id]
        assert not job.is_over, "a job was reaped that had ended"
        job.is_over = job.is_reaped = True

    def _JobReported(self, event: jo.JobReported) -> None:
        job = self.jobs[event.job_id]
        assert not job.is_reaped, "a turn was started for a reaped job"
        self._tell(job, event.turn_id)

    def _tell(self, known: Told, turn_id: str) -> None:
        assert known.is_over, "a result was told before it was there"
        assert known.told_in is None, "a result was told twice"
        assert self.turn is not None
        assert self.turn.turn_id == turn_id
        assert not self.turn.input_ids, "a result in the turn of somebody else"
        assert self.turn.authority == known.authority, "a result under another authority"
        known.told_in = turn_id
        self.tells += 1

    def _ConsentRequested(self, event: co.ConsentRequested) -> None:
        if event.run_id is not None:
            run = self.runs[event.run_id]
            assert not run.is_over
            assert event.request.requester == run.authority.requester, "asked in another's name"
            assert event.request.call_id not in self.asking
            self.asking[event.request.call_id] = event.run_id

    def _ConsentAnswered(self, event: co.ConsentAnswered) -> None:
        if event.run_id is not None:
            assert self.asking.pop(event.call_id) == event.run_id

    def _ConsentWithdrawn(self, event: co.ConsentWithdrawn) -> None:
        if event.run_id is not None:
            assert self.asking.pop(event.call_id) == event.run_id

    @property
    def untold(self) -> list[str]:
        """What a session that is done must have told of, and has not."""
        runs = [name for name, known in self.runs.items() if known.told_in is None]
        jobs = [
            name
            for name, known in self.jobs.items()
            if known.told_in is None and not known.is_reaped
        ]
        return [*runs, *jobs]

    @property
    def holding(self) -> list[str]:
        """Live jobs, and runs that are live or untold and do not wait for consent."""
        runs = [
            name
            for name, known in self.runs.items()
            if known.told_in is None and name not in self.asking.values()
        ]
        return [*runs, *(name for name, known in self.jobs.items() if not known.is_over)]
