"""Applies journal events to the state: `evolve` in commit order is the state (decision 3).

Every event type has one step; those that the model sees afterwards also add messages. Steps
accept whatever a journal holds: an event about a turn that is not open changes only what it
names. An event costs a constant number of small copies plus one copy of the history's pointers
when it adds a message; `replay` joins the messages of many rows, so reading a long journal is
linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar, cast

from netclaw.core.messages import Message
from netclaw.core.session import (
    adoption_events,
    child_events,
    consent_events,
    goal_events,
    job_events,
)
from netclaw.core.session import events as ev
from netclaw.core.session import evolve_children as children
from netclaw.core.session import evolve_consent as consent
from netclaw.core.session import evolve_facts as facts
from netclaw.core.session import evolve_jobs as jobs
from netclaw.core.session import evolve_messages as messages
from netclaw.core.session import evolve_steps as steps
from netclaw.core.session.events import Recorded, SessionEvent
from netclaw.core.session.state import SessionState

_Event = TypeVar("_Event", bound=SessionEvent)
_Added = tuple[Message, ...]
_Step = Callable[[SessionState, Recorded, SessionEvent], SessionState]
_Adder = Callable[[SessionState, Recorded, SessionEvent], _Added]


def _step(
    kind: type[_Event], step: Callable[[SessionState, Recorded, _Event], SessionState]
) -> tuple[type[SessionEvent], _Step]:
    return cast("tuple[type[SessionEvent], _Step]", (kind, step))


def _adder(
    kind: type[_Event], adder: Callable[[SessionState, Recorded, _Event], _Added]
) -> tuple[type[SessionEvent], _Adder]:
    return cast("tuple[type[SessionEvent], _Adder]", (kind, adder))


STEPS: dict[type[SessionEvent], _Step] = dict(
    (
        _step(ev.SessionCreated, steps.session_created),
        _step(ev.SessionReset, steps.session_reset),
        _step(ev.InputAdmitted, steps.input_admitted),
        _step(ev.AnswerAdmitted, steps.answer_admitted),
        _step(ev.CrashRecorded, steps.crash_recorded),
        _step(ev.TurnStarted, steps.turn_started),
        _step(ev.InputJoined, steps.input_joined),
        _step(ev.OutputStarted, steps.output_started),
        _step(ev.RoundRecorded, steps.round_recorded),
        _step(ev.ToolBatchStarted, steps.tool_batch_started),
        _step(ev.ToolResultRecorded, steps.tool_result_recorded),
        _step(ev.TurnRecorded, steps.turn_recorded),
        _step(ev.TurnFailed, steps.turn_failed),
        _step(ev.TitleSet, facts.title_set),
        _step(ev.WorkingDirectorySet, facts.working_directory_set),
        _step(goal_events.GoalSet, facts.goal_set),
        _step(adoption_events.SessionAdopted, facts.session_adopted),
        _step(adoption_events.HistoryAdopted, facts.history_adopted),
        _step(ev.Compacted, steps.compacted),
        _step(ev.DrainStopped, steps.drain_stopped),
        _step(ev.Resumed, steps.resumed),
        _step(ev.Passivated, steps.passivated),
        _step(consent_events.ConsentRequested, consent.consent_requested),
        _step(consent_events.ConsentAnswered, consent.consent_answered),
        _step(consent_events.ConsentWithdrawn, consent.consent_withdrawn),
        _step(consent_events.AnswerDismissed, consent.answer_dismissed),
        _step(child_events.ChildAccepted, children.child_accepted),
        _step(child_events.ChildStarted, children.child_started),
        _step(child_events.ChildParked, children.child_parked),
        _step(child_events.ChildResumed, children.child_resumed),
        _step(child_events.ChildCancelAdmitted, children.child_cancel_admitted),
        _step(child_events.ChildDispatchClosed, children.child_dispatch_closed),
        _step(child_events.ChildEnded, children.child_ended),
        _step(child_events.ChildResultDelivered, children.child_result_delivered),
        _step(child_events.ChildFrozen, children.child_frozen),
        _step(child_events.ChildClosed, children.child_closed),
        _step(job_events.JobStarted, jobs.job_started),
        _step(job_events.JobEnded, jobs.job_ended),
        _step(job_events.JobReaped, jobs.job_reaped),
        _step(job_events.JobReported, jobs.job_reported),
    )
)
"""What each event does to the state beside the history."""

MESSAGES: dict[type[SessionEvent], _Adder] = dict(
    (
        _adder(ev.TurnStarted, messages.of_started),
        _adder(ev.InputJoined, messages.of_joined),
        _adder(ev.RoundRecorded, messages.of_round),
        _adder(ev.ToolResultRecorded, messages.of_result),
        _adder(ev.TurnRecorded, messages.of_recorded),
        _adder(ev.TurnFailed, messages.of_failed),
        _adder(adoption_events.SessionAdopted, messages.of_adopted),
        _adder(adoption_events.HistoryAdopted, messages.of_adopted_history),
        _adder(child_events.ChildResultDelivered, messages.of_child_result),
        _adder(job_events.JobReported, messages.of_job_end),
    )
)
"""What each event adds to the history, judged on the state before it."""


def evolve(state: SessionState, recorded: Recorded) -> SessionState:
    """The state after one more event; `recorded.seq` becomes the head."""
    after, added = _apply(state, recorded)
    return _at(after, recorded, added)


def replay(state: SessionState, rows: Iterable[Recorded]) -> SessionState:
    """The state after many rows: the same as `evolve` for each, in linear time."""
    waiting: list[Message] = []
    last: Recorded | None = None
    for last in rows:
        if waiting and steps.takes_messages_away(state, last.event):
            state = replace(state, history=(*state.history, *waiting))
            waiting.clear()
        state, added = _apply(state, last)
        waiting.extend(added)
    return state if last is None else _at(state, last, tuple(waiting))


def preview(state: SessionState, event: SessionEvent, *, at: int) -> SessionState:
    """The state as it will be if this event is committed on top of it and nothing between.

    For the rules that follow in the same decision, the request of an early model call and the
    snapshot that rides in an append.
    """
    return evolve(state, Recorded(seq=state.head + 1, at=at, incarnation=0, cause="", event=event))


def _apply(state: SessionState, recorded: Recorded) -> tuple[SessionState, _Added]:
    event = recorded.event
    kind = type(event)
    adder = MESSAGES.get(kind)
    added = adder(state, recorded, event) if adder else ()
    return STEPS[kind](state, recorded, event), added


def _at(state: SessionState, recorded: Recorded, added: _Added) -> SessionState:
    """The state with this row as its head and these messages at the end of its history."""
    return replace(
        state,
        head=recorded.seq,
        is_passivated=type(recorded.event) is ev.Passivated,
        history=state.history + added if added else state.history,
    )
