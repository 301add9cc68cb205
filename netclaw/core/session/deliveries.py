"""Tells the model of ended runs and jobs, in a turn of its own (S0 "Who joins a turn").

The turn has no inputs and the authority of whoever began the work. Its notices name what ended and
where to look; its end, whatever it is, closes what it told of. ADR 0031 holds what other modules
must obey.
"""

from __future__ import annotations

from netclaw.core.ids import TurnId
from netclaw.core.session.child_events import ChildResultDelivered
from netclaw.core.session.draft import Draft
from netclaw.core.session.events import NoticeMark, TurnStarted
from netclaw.core.session.job_events import JobReported
from netclaw.core.session.open_work import Delivery


def begin(
    draft: Draft, turn_id: TurnId, delivery: Delivery, notices: tuple[NoticeMark, ...]
) -> None:
    """Record the start of a turn that tells of these results, in one append."""
    draft.record(
        TurnStarted(turn_id=turn_id, input_ids=(), authority=delivery.authority, notices=notices)
    )
    for run_id in delivery.runs:
        draft.record(ChildResultDelivered(run_id=run_id, turn_id=turn_id))
    for job_id in delivery.jobs:
        draft.record(JobReported(job_id=job_id, turn_id=turn_id))
