"""What a run's session and its one input are made with, in every journal store."""

from __future__ import annotations

from netclaw.core.authority import SourceKind
from netclaw.core.ids import SessionId
from netclaw.core.session.child_events import ChildAccepted
from netclaw.core.session.events import InputAdmitted, SessionKind
from netclaw.ports.child_records import ChildStart
from netclaw.ports.journal import AdmitRequest, NewSession


def new_child(accepted: ChildAccepted, request: ChildStart) -> NewSession:
    """The session of a run: of its parent, with the audience of the turn that asked for it."""
    return NewSession(
        session_id=accepted.session_id,
        kind=SessionKind.CHILD,
        channel=SourceKind.CHILD,
        audience=accepted.authority.requester.audience,
        storage_root=request.storage_root,
        at=request.at,
        parent=request.parent,
    )


def as_request(session_id: SessionId, event: InputAdmitted, *, at: int) -> AdmitRequest:
    """An input that is written already, as it would have been asked for."""
    return AdmitRequest(
        session_id=session_id,
        input_id=event.input_id,
        source_message_id=event.source_message_id,
        text=event.text,
        authority=event.authority,
        attended=event.attended,
        at=at,
        media=event.media,
    )
