"""The first events of a run's own session, and the answers a later start of it takes along.

Whoever makes the session commits these in one append; nothing in them is decided there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from netclaw.core.authority import Authority, Principal, SourceKind
from netclaw.core.ids import InputId
from netclaw.core.session import slash
from netclaw.core.session.child_effects import ChildAnswer
from netclaw.core.session.child_events import ChildAccepted, ChildFrozen
from netclaw.core.session.events import (
    AnswerAdmitted,
    InputAdmitted,
    SessionCreated,
    SessionEvent,
    SessionKind,
    WorkingDirectorySet,
)

FIRST_LIFE = 1


def first_events(accepted: ChildAccepted, frozen: ChildFrozen) -> tuple[SessionEvent, ...]:
    """A session of kind child with its task as its one input (decision 69).

    The audience is inherited, never widened. The run never talks to people, so its answer is
    delivered nowhere.
    """
    authority = accepted.authority
    created = SessionCreated(
        session_id=accepted.session_id,
        kind=SessionKind.CHILD,
        channel=SourceKind.CHILD,
        audience=authority.requester.audience,
        life=FIRST_LIFE,
        parent=frozen.parent,
    )
    task = InputAdmitted(
        input_id=task_input(accepted),
        source_message_id=None,
        text=_unmistakable(accepted.task),
        authority=own_authority(authority),
        attended=accepted.is_attended,
    )
    folder = frozen.working_directory
    project = (WorkingDirectorySet(path=folder, actor=frozen.parent),) if folder else ()
    return created, frozen, *project, task


def task_input(accepted: ChildAccepted) -> InputId:
    """The id of the input that is the run's task."""
    return InputId(accepted.run_id)


def own_authority(authority: Authority) -> Authority:
    """The authority of a run's turn: its requester's, without the places that answers go to."""
    return replace(authority, delivery_targets=())


def answer_events(
    accepted: ChildAccepted, answers: Iterable[ChildAnswer]
) -> tuple[AnswerAdmitted, ...]:
    """The answers to a run's parked calls; the parent has judged who gave them."""
    requester = accepted.authority.requester
    is_person = requester.principal.is_person
    return tuple(
        AnswerAdmitted(
            call_id=answer.call_id,
            option=answer.option,
            answerer=requester.sender_id or answer.answerer,
            boundary=requester.boundary,
            principal=requester.principal if is_person else Principal.OPERATOR,
        )
        for answer in answers
    )


def _unmistakable(task: str) -> str:
    """A task is for the model, also one that reads like a command of a person."""
    return f"{slash.MARK}{task.lstrip()}" if slash.parse(task) is not None else task
