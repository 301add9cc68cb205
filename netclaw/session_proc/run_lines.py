"""What the session log says of child runs and background jobs."""

from __future__ import annotations

from collections.abc import Callable

from netclaw.core.session.child_events import (
    ChildAccepted,
    ChildCancelAdmitted,
    ChildDispatchClosed,
    ChildEnded,
    ChildParked,
    ChildResultDelivered,
    ChildResumed,
    ChildStarted,
)
from netclaw.core.session.job_events import JobEnded, JobReaped, JobReported, JobStarted

Quote = Callable[[str], str]
"""Redacts a text and bounds it."""


def line_of(event: object, quote: Quote) -> str:
    """The line of an event about a run or job; empty for any other event."""
    return _of_run(event, quote) or _of_job(event, quote)


def _of_run(event: object, quote: Quote) -> str:
    match event:
        case ChildAccepted():
            return f"Child run {event.run_id} accepted: {quote(event.agent)} {quote(event.task)}"
        case ChildStarted():
            return f"Child run {event.run_id} started"
        case ChildParked():
            return f"Child run {event.run_id} parked: {event.kind.value}"
        case ChildResumed():
            return f"Child run {event.run_id} resumed"
        case ChildCancelAdmitted():
            return f"Child run {event.run_id} to be cancelled by {quote(event.actor)}"
        case ChildDispatchClosed():
            return f"Child run {event.run_id} starts nothing more"
        case ChildEnded():
            return f"Child run {event.run_id} ended: {event.state.value} {event.reason}".rstrip()
        case ChildResultDelivered():
            return f"Turn {event.turn_id} tells of child run {event.run_id}"
        case _:
            return ""


def _of_job(event: object, quote: Quote) -> str:
    match event:
        case JobStarted():
            return f"Job {event.job_id} started: {quote(event.command)}"
        case JobEnded():
            code = "-" if event.exit_code is None else event.exit_code
            return f"Job {event.job_id} ended: {event.state.value}, exit code {code}"
        case JobReaped():
            return f"Job {event.job_id} died with its process"
        case JobReported():
            return f"Turn {event.turn_id} tells of job {event.job_id}"
        case _:
            return ""
