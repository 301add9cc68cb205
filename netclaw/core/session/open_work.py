"""What waits in a session beside its open turn: inputs, results of runs and jobs, and for whom.

Results are automated input (S0 "Who joins a turn"): each takes its place among the waiting inputs
by the seq of its end and gets a turn of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from netclaw.core.authority import Authority, SourceKind
from netclaw.core.ids import JobId, RunId
from netclaw.core.session.child_state import ChildRun
from netclaw.core.session.job_state import JobRun
from netclaw.core.session.state import BufferedInput, SessionState

OF_SESSIONS = frozenset({SourceKind.SESSION, SourceKind.SIGNAL})
"""What sessions have to say to each other: no person stands behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What one turn tells of: results of one authority that follow on each other."""

    authority: Authority
    runs: tuple[RunId, ...] = ()
    jobs: tuple[JobId, ...] = ()


def is_paused(state: SessionState) -> bool:
    """The child consent pause (S3): a consent request of a run waits for a person.

    Nothing but the end of every such request ends it.
    """
    return any(run.unanswered for run in state.children)


def next_up(state: SessionState) -> BufferedInput | Delivery | None:
    """Whose turn comes next in a session without an open turn; None if nothing may run.

    Journal order, except that automated input, results among it, waits while the session is
    paused: a person stands behind none of it.
    """
    if state.turn is not None:
        return None
    is_held = is_paused(state)
    item = next((item for item in state.buffered if not (is_held and _is_automated(item))), None)
    results = [] if is_held else sorted(_results(state), key=lambda result: result.ended_seq)
    if not results or (item is not None and item.seq < results[0].ended_seq):
        return item
    return _delivery(results, None if item is None else item.seq)


def holds_session(state: SessionState) -> bool:
    """Whether a job or a run keeps an idle session up (S0 "Passivation").

    Live jobs, and runs that are live or whose end was not told; not one that waits for consent.
    """
    return any(job.state.is_live for job in state.jobs) or any(
        run.is_undelivered or (run.ended is None and not run.is_waiting_for_consent)
        for run in state.children
    )


def is_start_due(state: SessionState) -> bool:
    """Whether a run alone calls for a process (protocol "Runnable work"): to watch or resume it.

    A live job does not: it died with the process, and the next wake lists it.
    """
    return any(run.ended is None and not run.unanswered for run in state.children)


def awaited_runs(state: SessionState) -> tuple[ChildRun, ...]:
    """The runs at work, which a drain waits for."""
    return tuple(run for run in state.children if run.is_live)


def open_run_ids(state: SessionState) -> tuple[RunId, ...]:
    """The open child runs as the end of the open turn reports them: without those it told of."""
    told = state.turn.delivers if state.turn is not None else ()
    return tuple(
        run.run_id for run in state.children if not run.is_closed and run.run_id not in told
    )


def is_attended(state: SessionState) -> bool:
    """Whether a person can answer consent requests of the open turn.

    A turn that tells of results is as attended as the turns that began the work. What another
    session sent, and a wake, never is. Without any knowledge: no.
    """
    turn = state.turn
    if turn is None:
        return False
    known = (
        *(item.admitted.attended and not _is_of_sessions(item) for item in state.in_turn),
        *(run.accepted.is_attended for run in state.children if run.run_id in turn.delivers),
        *(job.started.is_attended for job in state.jobs if job.job_id in turn.reports),
    )
    return any(known)


def _is_of_sessions(item: BufferedInput) -> bool:
    return item.admitted.authority.provenance.source_kind in OF_SESSIONS


def _is_automated(item: BufferedInput) -> bool:
    return not item.admitted.authority.is_of_person


def _results(state: SessionState) -> Iterable[ChildRun | JobRun]:
    yield from (run for run in state.children if run.is_undelivered)
    yield from (job for job in state.jobs if job.is_unreported)


def _delivery(results: list[ChildRun | JobRun], before: int | None) -> Delivery:
    """The results at the head of the queue that share their authority, up to the next input."""
    authority = _authority(results[0])
    told = tuple(
        takewhile(
            lambda item: (
                _authority(item) == authority and (before is None or item.ended_seq < before)
            ),
            results,
        )
    )
    return Delivery(
        authority=authority,
        runs=tuple(item.run_id for item in told if isinstance(item, ChildRun)),
        jobs=tuple(item.job_id for item in told if isinstance(item, JobRun)),
    )


def _authority(result: ChildRun | JobRun) -> Authority:
    if isinstance(result, ChildRun):
        return result.accepted.authority
    return result.started.authority
