"""Winding a session down: idle timer, grace period, snapshot, exit (S0 Lifecycle).

Entering Passivating and committing Passivated are two decisions, so that an input in between can
abort it, and so that a failing snapshot never takes the end of a turn with it.
"""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.session import memories, open_work
from netclaw.core.session.commands import TimerKind
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import CancelTimer, ExitProcess, StartTimer
from netclaw.core.session.events import Passivated
from netclaw.core.session.job_effects import KillJob
from netclaw.core.session.phase import Phase


def begin(draft: Draft, *, reason: str, grace_s: float) -> None:
    """Enter Passivating; the grace timer commits it.

    Memory gets the grace period for a last distillation, and nothing where there is none.
    """
    draft.move(Phase.PASSIVATING)
    token = draft.make_id()
    draft.runtime = replace(draft.runtime, grace_token=token, exit_reason=reason)
    draft.perform(StartTimer(timer=TimerKind.PASSIVATION_GRACE, token=token, after_s=grace_s))
    if grace_s > 0:
        memories.begin_distillation(draft)


def leave(draft: Draft) -> None:
    """Wind down because of a drain, once no child run is waited for any more."""
    if not open_work.awaited_runs(draft.state):
        if draft.runtime.child_drain_token:
            draft.runtime = replace(draft.runtime, child_drain_token="")
            draft.perform(CancelTimer(timer=TimerKind.CHILD_DRAIN))
        begin(draft, reason="drain", grace_s=0.0)


def abort(draft: Draft) -> None:
    """Return to Ready because there is work again."""
    draft.move(Phase.READY)
    draft.runtime = replace(draft.runtime, grace_token="", exit_reason="")
    draft.perform(CancelTimer(timer=TimerKind.PASSIVATION_GRACE))
    memories.cancel_distillation(draft)


def commit(draft: Draft) -> None:
    """Record Passivated with a snapshot and exit.

    The append needs the exact head, so an input admitted meanwhile makes it refused and this
    decided again (protocol "Appending"). Jobs die with the process (decision 85).
    """
    draft.record(Passivated(snapshot_seq=draft.state.head + 1))
    memories.cancel_distillation(draft)
    draft.perform(*(KillJob(job_id=job.job_id) for job in draft.state.jobs if job.state.is_live))
    draft.runtime = replace(draft.runtime, is_exiting=True)
    draft.perform(ExitProcess(reason=draft.runtime.exit_reason))
