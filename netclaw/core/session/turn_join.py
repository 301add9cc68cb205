"""Who joins a turn, who waits, and who ends an automated one (S0 "Who joins a turn")."""

from __future__ import annotations

from itertools import takewhile

from netclaw.core.authority import Authority, Principal
from netclaw.core.context import modality
from netclaw.core.session.asides import command_of
from netclaw.core.session.draft import Draft
from netclaw.core.session.events import InputJoined
from netclaw.core.session.state import BufferedInput, OpenTurn, SessionState

PREEMPTING = frozenset({Principal.OPERATOR, Principal.TRUSTED})
"""Who ends an automation turn by writing; an untrusted external person waits."""


def joiners(turn: OpenTurn, buffered: tuple[BufferedInput, ...]) -> tuple[BufferedInput, ...]:
    """The inputs that join at a batch boundary: same person, before anyone else's.

    Decision 27: of buffered U1, U2, U1 only the first U1 joins, so order between people is kept.
    Automated inputs wait for a turn of their own and stand in no person's way. A slash command is
    answered in a turn of its own, and what its sender wrote after it comes after it.
    """
    requester = turn.authority.requester
    if is_automated(turn):
        return ()
    people = (item for item in buffered if is_person(item.admitted.authority))
    return tuple(
        takewhile(
            lambda item: item.admitted.authority.requester == requester and not command_of(item),
            people,
        )
    )


def join(draft: Draft, turn: OpenTurn) -> None:
    """Let the joiners into the turn; they run under the authority it started with."""
    model = draft.settings.main_model
    joining = tuple(
        takewhile(
            lambda item: not modality.refused_by(item.admitted.media, model),
            joiners(turn, draft.state.buffered),
        )
    )
    if joining:
        input_ids = tuple(item.admitted.input_id for item in joining)
        draft.record(InputJoined(turn_id=turn.turn_id, input_ids=input_ids))


def preemptor(state: SessionState) -> BufferedInput | None:
    """The first waiting input that ends the open turn after its batch, if that is automated."""
    turn = state.turn
    if turn is None or not is_automated(turn):
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
