"""Child runs: how one is accepted, and what its process reports (S3 "open child run").

The journal of the parent is the truth. A run is accepted before it starts, its end is durable
before it is acknowledged, and of an end and a cancel the one that was committed first counts. What
follows from a cancel, a drain, a start and an answer is decided in `child_control`.
"""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.authority import Audience
from netclaw.core.ids import MINTED_ID_LENGTH, SESSION_ID_MAX_BYTES, RunId, SessionId
from netclaw.core.session import child_control, consent, open_work
from netclaw.core.session.child_commands import (
    AcceptChild,
    BeginChild,
    ChildAsk,
    CloseChildDispatch,
    EndChild,
    ParkChild,
)
from netclaw.core.session.child_effects import (
    AcknowledgeChild,
    CloseChild,
    ConfirmSpawn,
    RefuseSpawn,
    ReportKind,
    SpawnRefusal,
    StartChild,
)
from netclaw.core.session.child_events import (
    ChildAccepted,
    ChildDispatchClosed,
    ChildParked,
    ChildStarted,
    ChildState,
    ParkKind,
)
from netclaw.core.session.child_state import ChildRun
from netclaw.core.session.consent_events import (
    ConsentAnswered,
    ConsentEffect,
    ConsentRequest,
    ConsentRequested,
)
from netclaw.core.session.draft import Draft
from netclaw.core.session.events import SessionKind
from netclaw.core.session.state import OpenTurn, RunningTool, SessionState
from netclaw.core.text import storable

DELEGATING = frozenset({Audience.PERSONAL, Audience.TEAM})
"""Audiences that may start runs. A run inherits its audience, so an unknown one starts none."""

REFUSE_KEY = "refuse"
"""Answers a request that nobody can answer and that offers no refusal of its own."""


# Acceptance


def accept(draft: Draft, command: AcceptChild) -> None:
    """Accept a run for a running call, or answer the call that there will be none.

    The same start is the same run, whatever else would stand against it by now.
    """
    turn = draft.state.turn
    asking = RunningTool(token=command.token, call_id=command.call_id)
    if turn is None or asking not in draft.runtime.running:
        draft.perform(RefuseSpawn(token=command.token, refusal=SpawnRefusal.NOT_RUNNING))
        return
    key = f"{draft.state.session_id}/{turn.turn_id}/{command.call_id}"
    run = next((item for item in draft.state.children if item.accepted.start_key == key), None)
    if run is not None and run.accepted.digest == command.digest:
        draft.perform(ConfirmSpawn(token=command.token, run_id=run.run_id, state=run.state))
        return
    refusal = SpawnRefusal.START_CONFLICT if run is not None else _refusal(draft, turn)
    if refusal is not None:
        draft.perform(RefuseSpawn(token=command.token, refusal=refusal))
    else:
        _accept(draft, turn, command, key)


def _accept(draft: Draft, turn: OpenTurn, command: AcceptChild, key: str) -> None:
    run_id = RunId(draft.make_id())
    draft.record(
        ChildAccepted(
            run_id=run_id,
            session_id=_session_id(draft.state, run_id),
            agent=storable(command.agent),
            task=storable(command.task),
            start_key=key,
            digest=command.digest,
            turn_id=turn.turn_id,
            call_id=command.call_id,
            authority=turn.authority,
            is_attended=open_work.is_attended(draft.state),
        )
    )
    child_control.show(draft, run_id)
    draft.perform(
        ConfirmSpawn(token=command.token, run_id=run_id, state=ChildState.ACCEPTED),
        StartChild(run_id=run_id, start=1),
    )


def _refusal(draft: Draft, turn: OpenTurn) -> SpawnRefusal | None:
    state, runtime = draft.state, draft.runtime
    id_bytes = len(_session_id(state, RunId("x" * MINTED_ID_LENGTH)).encode())
    against = {
        SpawnRefusal.CHILD_SESSION: state.kind is SessionKind.CHILD,
        SpawnRefusal.AUDIENCE: turn.authority.requester.audience not in DELEGATING,
        SpawnRefusal.STOPPING: runtime.drain is not None or runtime.is_stop_requested,
        SpawnRefusal.CONSENT_PAUSE: open_work.is_paused(state),
        SpawnRefusal.NAME_TOO_LONG: id_bytes > SESSION_ID_MAX_BYTES,
    }
    return next((refusal for refusal, is_so in against.items() if is_so), None)


def _session_id(state: SessionState, run_id: RunId) -> SessionId:
    return SessionId(f"{state.session_id}/sub/{run_id}")


# Reports


def begin(draft: Draft, command: BeginChild) -> None:
    """The run's process works; a cancel that came before it reaches it now."""
    run = _reporting(draft, command)
    if run is not None and not run.is_started:
        draft.record(ChildStarted(run_id=run.run_id))
        child_control.show(draft, run.run_id)
    if run is not None and run.state is ChildState.CANCELLING:
        draft.perform(CloseChild(run_id=run.run_id))
    _acknowledge(draft, command, ReportKind.BEGUN)


def park(draft: Draft, command: ParkChild) -> None:
    """The run has no process any more: it waits for answers, or for the next start.

    Requests of a run that nobody attends are refused at once, so that it goes on without them. A
    run that is being cancelled is over with its process.
    """
    run = _reporting(draft, command)
    if run is not None:
        if run.state is ChildState.CANCELLING:
            child_control.end_cancelled(draft, run)
        else:
            _park(draft, run, command)
        child_control.settle(draft)
    _acknowledge(draft, command, ReportKind.PARKED)


def _park(draft: Draft, run: ChildRun, command: ParkChild) -> None:
    if command.asks and not run.is_started:
        # Whoever asks has worked: the answers it was started with are not to be given again.
        draft.record(ChildStarted(run_id=run.run_id))
        child_control.show(draft, run.run_id)
    for ask in command.asks:
        # Who may answer is on record; a process has no say in it.
        request = replace(ask.request, requester=run.accepted.authority.requester)
        if run.accepted.is_attended:
            consent.record_request(draft, ask.turn_id, request, run_id=run.run_id)
        else:
            _refuse_unseen(draft, run.run_id, replace(ask, request=request))
    kind = ParkKind.CONSENT if command.asks else ParkKind.DRAIN
    draft.record(ChildParked(run_id=run.run_id, kind=kind))
    draft.rest_anew()
    child_control.show(draft, run.run_id)


def _refuse_unseen(draft: Draft, run_id: RunId, ask: ChildAsk) -> None:
    """Fail closed: the request is on record, nobody is prompted, the answer is no."""
    draft.record(ConsentRequested(turn_id=ask.turn_id, request=ask.request, run_id=run_id))
    draft.record(
        ConsentAnswered(
            turn_id=ask.turn_id,
            call_id=ask.request.call_id,
            option=_refusal_key(ask.request),
            answerer="",
            run_id=run_id,
        )
    )


def _refusal_key(request: ConsentRequest) -> str:
    refusals = (item.key for item in request.options if item.effect is ConsentEffect.REFUSE)
    return next(refusals, REFUSE_KEY)


def close_dispatch(draft: Draft, command: CloseChildDispatch) -> None:
    """The cancelled run starts nothing any more; its end follows as a report of its own."""
    run = _reporting(draft, command)
    if run is not None and run.state is ChildState.CANCELLING and not run.is_dispatch_closed:
        draft.record(ChildDispatchClosed(run_id=run.run_id))
    _acknowledge(draft, command, ReportKind.DISPATCH_CLOSED)


def end(draft: Draft, command: EndChild) -> None:
    """The run is over; of this and a cancel the one that was committed first counts."""
    run = child_control.find(draft.state, command.run_id)
    if run is not None and run.ended is None and run.start == command.start:
        if run.state is ChildState.CANCELLING:
            child_control.end_cancelled(draft, run, result_path=command.result_path)
        else:
            child_control.end_as_reported(draft, run, command)
        child_control.settle(draft)
    _acknowledge(draft, command, ReportKind.ENDED)


def _reporting(
    draft: Draft, command: BeginChild | ParkChild | CloseChildDispatch
) -> ChildRun | None:
    """The run whose present process reports; None for one that is old, unknown or over."""
    run = child_control.find(draft.state, command.run_id)
    is_known = run is not None and run.is_live and run.start == command.start
    return run if is_known else None


def _acknowledge(
    draft: Draft,
    command: BeginChild | ParkChild | CloseChildDispatch | EndChild,
    report: ReportKind,
) -> None:
    """Whatever came of a report, its process need not send it again."""
    draft.perform(AcknowledgeChild(run_id=command.run_id, start=command.start, report=report))
