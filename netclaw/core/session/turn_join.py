"""Who joins a turn, who waits, and who ends an automated one (S0 "Who joins a turn")."""

from __future__ import annotations

from itertools import takewhile

from netclaw.core.authority import Authority, Principal
from netclaw.core.context import modality
from netclaw.core.session.asides import command_of
from netclaw.core.session.draft import Draft
from netclaw.core.session.events import InputJoined, SessionKind
from netclaw.core.session.state import BufferedInput, OpenTurn, SessionState
from netclaw.core.settings import ModelSettings

PREEMPTING = frozenset({Principal.OPERATOR, Principal.TRUSTED})
"""Who ends an automation turn by writing; an untrusted external person waits."""


def joiners(
    turn: OpenTurn, buffered: tuple[BufferedInput, ...], *, model: ModelSettings | None = None
) -> tuple[BufferedInput, ...]:
    """The inputs that join at a batch boundary: same person, before anyone else's.

    Decision 27: of buffered U1, U2, U1 only the first U1 joins, so order between people is kept.
    Automated inputs wait for a turn of their own and stand in no person's way. A slash command and
    what the model cannot take end in turns of their own, and what their sender wrote after them
    comes after them.
    """
    requester = turn.authority.requester
    if is_automated(turn):
        return ()

    def may_join(item: BufferedInput) -> bool:
        admitted = item.admitted
        is_own = admitted.authority.requester == requester
        return is_own and not command_of(item) and not modality.refused_by(admitted.media, model)

    people = (item for item in buffered if is_person(item.admitted.authority))
    return tuple(takewhile(may_join, people))


def join(draft: Draft, turn: OpenTurn) -> None:
    """Let the joiners into the turn; they run under the authority it started with."""
    joining = joiners(turn, draft.state.buffered, model=draft.settings.main_model)
    if joining:
        input_ids = tuple(item.admitted.input_id for item in joining)
        draft.record(InputJoined(turn_id=turn.turn_id, input_ids=input_ids))


def preemptor(state: SessionState) -> BufferedInput | None:
    """The first waiting input that ends the open turn after its batch, if that is automated."""
    turn = state.turn
    if turn is None or state.kind is SessionKind.CHILD or not is_automated(turn):
        return None
    for item in state.buffered:
        if item.admitted.authority.requester.principal in PREEMPTING and not command_of(item):
            return item
    return None


def is_automated(turn: OpenTurn) -> bool:
    """Whether nobody asked for this turn as such: a machine did, or it tells of results."""
    return bool(turn.delivers or turn.reports) or not is_person(turn.authority)


def is_person(authority: Authority) -> bool:
    """Whether a human being asked."""
    return authority.requester.principal.is_person
