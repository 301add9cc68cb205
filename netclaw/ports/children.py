"""What a parent's process, the supervisor and a run's process tell each other about child runs.

The supervisor carries and keeps these words; it decides nothing of a run's life. The parent's
journal is the truth (ADR 0031): a word that is lost with a process is said again by the next one.
"""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.ids import RunId
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_commands import ChildAsk
from netclaw.core.session.child_effects import CancelAnswer, ChildAnswer, ReportKind
from netclaw.core.session.child_events import ChildAccepted, ChildFrozen, ChildState


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildOrder:
    """Parent: have a process for this run and take its reports.

    The same `start` is the same process. `frozen` is given as long as the run was not seen at
    work: its session is made of `accepted` and `frozen` if there is none yet. The answers are
    committed to the run's journal before its process starts, once for each `start`.
    """

    accepted: ChildAccepted
    start: int
    frozen: ChildFrozen | None = None
    answers: tuple[ChildAnswer, ...] = ()

    @property
    def run_id(self) -> RunId:
        """The run's name."""
        return self.accepted.run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildWord:
    """Parent: close a run's gate or kill its process."""

    run_id: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildDrain:
    """Parent: have the process of this start park within `budget_s`, because of what comes `then`.

    The start need not have been asked for: then the run has no process, which is a park.
    """

    run_id: RunId
    start: int
    budget_s: float
    then: AfterDrain


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildReport:
    """Run: what has become of it; said in order and again until it is acknowledged.

    `asks` belongs to `PARKED`; state, reason, result path and files to `ENDED`. The supervisor
    makes the report of a run that cannot speak for itself.
    """

    run_id: RunId
    start: int
    kind: ReportKind
    asks: tuple[ChildAsk, ...] = ()
    state: ChildState = ChildState.FAILED
    reason: str = ""
    result_path: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildAck:
    """Parent: this report is durable, or of no interest any more."""

    run_id: RunId
    start: int
    report: ReportKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildCancelled:
    """Parent: what became of a wish that came as `cancel_child`; it is durable."""

    run_id: RunId
    actor: str
    answer: CancelAnswer
