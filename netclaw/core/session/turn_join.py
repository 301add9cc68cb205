"""Who joins a turn, who waits, and who ends an automated one (S0 "Who joins a turn")."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from netclaw.core.authority import Principal, Requester
from netclaw.core.context import modality
from netclaw.core.session.asides import command_of
from netclaw.core.session.draft import Draft
from netclaw.core.session.events import InputJoined, SessionKind
from netclaw.core.session.state import BufferedInput, OpenTurn, SessionState
from netclaw.core.settings import ModelSettings

PREEMPTING = frozenset({Principal.OPERATOR, Principal.TRUSTED})
"""Who ends an automation turn by writing; an untrusted external person waits."""


def joiners(
    turn: OpenTurn,
    buffered: tuple[BufferedInput, ...],
    *,
    model: ModelSettings | None = None,
    kind: SessionKind = SessionKind.MAIN,
) -> tuple[BufferedInput, ...]:
    """The inputs that join at a batch boundary: same person, before anyone else's.

    Decision 27: of buffered U1, U2, U1 only the first U1 joins, so order between people is kept.
    Automated inputs wait for a turn of their own and stand in no person's way. A slash command and
    what the model cannot take end in turns of their own, and what their sender wrote after them
    comes after them. The turn of a run is its only one: the operator joins it whoever asked for it,
    and its authority stays (decision 62).
    """
    requester = turn.authority.requester
    is_run = kind is SessionKind.CHILD
    if is_automated(turn) and not is_run:
        return ()

    def may_join(item: BufferedInput) -> bool:
        admitted = item.admitted
        sender = admitted.authority.requester
        is_own = sender == requester or (is_run and _may_join_run(sender, requester))
        return is_own and not command_of(item) and not modality.refused_by(admitted.media, model)

    people = (item for item in buffered if item.admitted.authority.is_of_person)
    return tuple(takewhile(may_join, people))


def _may_join_run(sender: Requester, requester: Requester) -> bool:
    """Who writes to a run names the run's session, not the one that it was asked for in."""
    is_same = replace(sender, session_id=requester.session_id) == requester
    return is_same or sender.principal is Principal.OPERATOR


def join(draft: Draft, turn: OpenTurn) -> None:
    """Let the joiners into the turn; they run under the authority it started with."""
    joining = joiners(
        turn, draft.state.buffered, model=draft.settings.main_model, kind=draft.state.kind
    )
    if joining:
        input_ids = tuple(item.admitted.input_id for item in joining)
        draft.record(InputJoined(turn_id=turn.turn_id, input_ids=input_ids))


def preemptor(state: SessionState) -> BufferedInput | None:
    """The first waiting input that ends the open turn after its batch, if that is automated."""
    turn = state.turn
    if turn is None or state.kind is SessionKind.CHILD or not is_automated(turn):
        return None
    for item in state.buffered:
        authority = item.admitted.authority
        is_preempting = authority.is_of_person and authority.requester.principal in PREEMPTING
        if is_preempting and not command_of(item):
            return item
    return None


def is_automated(turn: OpenTurn) -> bool:
    """Whether nobody asked for this turn as such: a machine did, or it tells of results."""
    return bool(turn.delivers or turn.reports) or not turn.authority.is_of_person
