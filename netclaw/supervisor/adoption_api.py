"""The part of the operator's service that lets a session go on from another program's transcript.

The file is opened here, by its path, as the operator's own. Nothing is made before it was read and
understood as a whole; then history, link and signal are one transaction.
"""

from __future__ import annotations

from netclaw.core.errors import HeadMovedError, InvalidArgumentError, NotFoundError
from netclaw.core.ids import SessionId, may_create_by_name, parse_session_id
from netclaw.core.session.events import SessionKind
from netclaw.core.session.state import SessionState
from netclaw.core.signals.upstream import UpstreamLink, UpstreamMarker
from netclaw.ports.upstream import Adopted, Adoption, NewBase, UpstreamStore
from netclaw.supervisor.callers import Caller, audience_for_new_session
from netclaw.supervisor.crashes import read_state
from netclaw.supervisor.envelope import check_layout
from netclaw.supervisor.ids import new_cli_session_id
from netclaw.supervisor.router import Router
from netclaw.supervisor.services import Services
from netclaw.supervisor.signals_api import operator_at_host
from netclaw.supervisor.transcript_files import Transcript
from netclaw.supervisor.transcript_reader import TranscriptReader
from netclaw.wire.v1 import admin_pb2 as pb
from netclaw.wire.v1.common_pb2 import Sender


async def other_adopters(store: UpstreamStore, link: UpstreamLink | None) -> list[SessionId]:
    """Sessions that keep a link's file from being followed, because they were adopted from it."""
    if link is None:
        return []
    adopters = await store.adopters_of(link.source.path)
    return [adopter for adopter in adopters if adopter != link.session_id]


class AdminAdoptions:
    """Mixed into `Admin`."""

    _services: Services
    _router: Router
    _transcripts: TranscriptReader

    async def adopt_transcript(
        self, request: pb.AdoptTranscriptRequest, caller: Caller
    ) -> pb.AdoptTranscriptResponse:
        """Take a transcript over into a new session or a named one, and follow it."""
        session_id = parse_session_id(request.session_id) if request.session_id else None
        if session_id is not None:
            await self._check_adopter(session_id)
        transcript = await self._transcripts.read(request.path)
        adoption, adopted = await self._adopt(session_id, transcript, caller)
        taken = None if adoption.has_history else transcript.history
        return pb.AdoptTranscriptResponse(
            session_id=adoption.session_id,
            catalog=transcript.source.catalog.value,
            upstream=adopted.link.source.path if adopted.link is not None else "",
            created=isinstance(adoption.base, NewBase),
            messages=0 if taken is None else len(taken.messages),
            omitted=0 if taken is None else taken.omitted,
            others=await other_adopters(self._services.store, adopted.link),
        )

    async def _check_adopter(self, session_id: SessionId) -> None:
        """Refuse, before the file is read, what could not take it over."""
        record = await self._services.store.get_session(session_id)
        if record is None:
            if not may_create_by_name(session_id):
                raise NotFoundError(f"There is no session {session_id}.")
            return
        if record.kind is SessionKind.CHILD:
            raise InvalidArgumentError(
                f"{session_id} is the session of a child run; it goes on from nothing else.",
                fix="Adopt the transcript into a session of its own.",
            )
        check_layout(session_id, record)

    async def _adopt(
        self, session_id: SessionId | None, transcript: Transcript, caller: Caller
    ) -> tuple[Adoption, Adopted]:
        """Commit it, with no process in between if a known session's history changes."""
        wanted = session_id or new_cli_session_id()
        adoption = await self._prepare(wanted, transcript, caller)
        try:
            if adoption.has_history or isinstance(adoption.base, NewBase):
                return adoption, await self._services.store.adopt(adoption)
            async with self._router.exclusive(self._router.slot(wanted)):
                adoption = await self._prepare(wanted, transcript, caller)
                return adoption, await self._services.store.adopt(adoption)
        except HeadMovedError:
            raise _busy(wanted) from None

    async def _prepare(
        self, session_id: SessionId, transcript: Transcript, caller: Caller
    ) -> Adoption:
        """What is to be committed, judged by the session as it is now."""
        base = await self._base(session_id, caller)
        has_history = isinstance(base, SessionState) and bool(base.history)
        now = self._services.now_ms()
        facts = transcript.facts
        return Adoption(
            session_id=session_id,
            source=transcript.source,
            marker=UpstreamMarker(
                offset=transcript.end, device=facts.device, inode=facts.inode, based_at=now
            ),
            actor=operator_at_host(),
            at=now,
            base=base.head if isinstance(base, SessionState) else base,
            history=() if has_history else transcript.history.events(),
            omitted=0 if has_history else transcript.history.omitted,
            has_history=has_history,
        )

    async def _base(self, session_id: SessionId, caller: Caller) -> NewBase | SessionState:
        """What the session is, or would be made with. Raises if it is at work or unreadable."""
        if await self._services.store.get_session(session_id) is None:
            daemon = self._services.settings.current.daemon
            return NewBase(
                audience=audience_for_new_session(caller, Sender(), daemon),
                storage_root=self._services.envelopes.new_root(session_id),
            )
        state = await read_state(self._services.store, session_id)
        if _is_at_work(state):
            raise _busy(session_id)
        return state


def _is_at_work(state: SessionState) -> bool:
    return state.turn is not None or bool(state.buffered) or bool(state.answers)


def _busy(session_id: SessionId) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{session_id} is at work; a transcript is adopted into a session at rest.",
        fix="Wait for its turn to end, then adopt the transcript.",
    )
