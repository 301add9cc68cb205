"""Turns a message as it came over the wire into an input to make durable, or refuses it.

Everything that can be wrong with a message is found here, before it is admitted; what a token
may claim is capped here (decision 40). Nothing waits for a session's process.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from netclaw.core.authority import Audience, SourceKind, narrower
from netclaw.core.context import modality
from netclaw.core.errors import (
    DeniedByPolicyError,
    InputIncompatibleError,
    NotFoundError,
    TooLargeError,
)
from netclaw.core.ids import (
    SessionId,
    is_child_key,
    may_be_thread,
    may_create_by_name,
    parse_session_id,
)
from netclaw.core.messages import MediaRef
from netclaw.core.session.admission import check_run, check_text
from netclaw.core.session.events import SessionKind
from netclaw.core.settings import SessionStorage
from netclaw.ports.journal import AdmitRequest, NewSession, SessionRecord
from netclaw.supervisor.callers import (
    Caller,
    audience_for_new_session,
    authority_for,
    check_channel,
    check_short_text,
    check_targets,
    parse_audience,
    parse_source,
)
from netclaw.supervisor.envelope import check_layout
from netclaw.supervisor.ids import new_cli_session_id, new_input_id
from netclaw.supervisor.router import Router
from netclaw.supervisor.services import Services
from netclaw.supervisor.uploads import Uploads
from netclaw.wire.convert import target_from_proto
from netclaw.wire.v1.common_pb2 import Sender
from netclaw.wire.v1.gateway_pb2 import SendUserMessageRequest

KNOWN_SESSIONS = 10_000
"""How many sessions' fixed facts are remembered."""
SPEAKERS = 200
CURSOR_CHARS = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """What never changes in one life of a session's row."""

    audience: Audience
    channel: SourceKind
    storage_layout: int
    storage_root: str


class Admissions:
    """Validates messages and creates the sessions that may be created."""

    def __init__(self, services: Services, router: Router, uploads: Uploads) -> None:
        self._services = services
        self._router = router
        self._uploads = uploads
        self._known: OrderedDict[SessionId, SessionFacts] = OrderedDict()

    def channel_of(self, session_id: str) -> SourceKind | None:
        """A session's channel, if its facts are at hand."""
        facts = self._known.get(SessionId(session_id))
        return facts.channel if facts is not None else None

    def forget(self, session_id: SessionId) -> None:
        """The session's row is gone."""
        self._known.pop(session_id, None)

    async def ensure(
        self, session_id: SessionId | None, caller: Caller, sender: Sender, *, must_exist: bool
    ) -> tuple[SessionId, bool]:
        """Find or create a session by name; returns its id and whether it is new.

        Raises `NotFoundError` for an unknown id that this caller may not create by naming it, and
        `DeniedByPolicyError` for a sender of a channel that it does not speak for.
        """
        if session_id is None:
            session_id = new_cli_session_id()
        elif (facts := self._known.get(session_id) or await self._load(session_id)) is not None:
            check_channel(caller, facts.channel)
            return session_id, False
        if must_exist or not _may_create(session_id, caller):
            raise _unknown(session_id)
        _check_speaks_for(sender, caller)
        return session_id, await self._create(session_id, sender, caller)

    async def audience(self, session_id: SessionId, caller: Caller, sender: Sender) -> Audience:
        """What a message of this sender would be allowed in the session, at most."""
        facts = await self.facts(session_id)
        audience = narrower(caller.max_audience, facts.audience)
        if sender.audience:
            audience = narrower(audience, parse_audience(sender.audience))
        return audience

    async def prepare(
        self, message: SendUserMessageRequest, caller: Caller, *, may_create_any: bool = False
    ) -> AdmitRequest:
        """Check a message and freeze its authority.

        `may_create_any` is the operator's way to stand in for an adapter, which may create every
        key of its channel.
        """
        session_id = parse_session_id(message.session_id)
        check_text(
            message.text, self._services.settings.current.daemon, has_media=bool(message.media)
        )
        source_id = check_short_text(message.source_message_id, "message id") or None
        facts = self._known.get(session_id)
        if facts is None:
            facts = await self._facts(session_id, message, caller, may_create_any=may_create_any)
        check_channel(caller, facts.channel)
        check_layout(session_id, facts)
        targets = tuple(target_from_proto(target) for target in message.delivery_targets)
        check_targets(caller, targets)
        if is_child_key(session_id):
            await self._check_run(session_id)
            targets = ()  # who writes into a run is answered there and nowhere else (decision 62)
        media: tuple[MediaRef, ...] = ()
        if message.media:
            storage = self._services.envelopes.storage(session_id, facts)
            media = await self._uploads.find(storage, message.media)
            await self._check_modality(session_id, source_id, storage, media)
        return AdmitRequest(
            session_id=session_id,
            input_id=new_input_id(),
            source_message_id=source_id,
            text=message.text,
            authority=authority_for(
                caller,
                session_id,
                facts.audience,
                message.sender,
                targets,
                _speakers(message),
            ),
            thread_cursor=_cursor(message, caller),
            attended=message.attended,
            at=self._services.now_ms(),
            media=media,
        )

    async def _check_run(self, session_id: SessionId) -> None:
        """Refuse a message to a run that will read none, before its files are looked at; the store
        does so too. Raises `InvalidArgumentError`.
        """
        run = await self._services.store.run_of_child(session_id)
        check_run(is_over=run is None or run.ended_at is not None)

    async def _check_modality(
        self,
        session_id: SessionId,
        source_id: str | None,
        storage: SessionStorage,
        media: tuple[MediaRef, ...],
    ) -> None:
        """Refuse what the main model cannot take (decision 24); raises `InputIncompatibleError`.

        A message that was admitted before is acknowledged again, whatever the model takes now.
        """
        model = self._services.settings.current.session.main_model
        if model is None:
            return
        try:
            modality.check_new(media, model.input_modalities)
            await self._uploads.check_pictures(storage, media)
        except InputIncompatibleError:
            store = self._services.store
            if source_id is None or await store.find_input(session_id, source_id) is None:
                raise

    async def facts(self, session_id: SessionId) -> SessionFacts:
        """A session's fixed facts; raises `NotFoundError`."""
        facts = self._known.get(session_id) or await self._load(session_id)
        if facts is None:
            raise _unknown(session_id)
        return facts

    async def _facts(
        self,
        session_id: SessionId,
        message: SendUserMessageRequest,
        caller: Caller,
        *,
        may_create_any: bool,
    ) -> SessionFacts:
        facts = await self._load(session_id)
        if facts is not None:
            return facts
        if not message.create or not (may_create_any or _may_create(session_id, caller)):
            raise _unknown(session_id)
        if is_child_key(session_id):
            raise NotFoundError(
                f"There is no session {session_id}.",
                fix="Its id is that of a child run: only its parent session makes it.",
            )
        _check_speaks_for(message.sender, caller)
        await self._create(session_id, message.sender, caller)
        return await self.facts(session_id)

    async def _load(self, session_id: SessionId) -> SessionFacts | None:
        record = await self._services.store.get_session(session_id)
        return self._remember(record) if record is not None else None

    async def _create(self, session_id: SessionId, sender: Sender, caller: Caller) -> bool:
        channel = parse_source(sender.source_kind) if sender.source_kind else SourceKind.CLI
        record, is_new = await self._services.store.create_session(
            NewSession(
                session_id=session_id,
                kind=SessionKind.MAIN,
                channel=channel,
                audience=audience_for_new_session(
                    caller, sender, self._services.settings.current.daemon
                ),
                storage_root=self._services.envelopes.new_root(session_id),
                at=self._services.now_ms(),
            )
        )
        self._remember(record)
        return is_new

    def _remember(self, record: SessionRecord) -> SessionFacts:
        self._router.note_record(record)
        facts = SessionFacts(
            audience=record.audience,
            channel=record.channel,
            storage_layout=record.storage_layout,
            storage_root=record.storage_root,
        )
        self._known[record.session_id] = facts
        if len(self._known) > KNOWN_SESSIONS:
            self._known.popitem(last=False)
        return facts


def _speakers(message: SendUserMessageRequest) -> tuple[str, ...]:
    if len(message.adopted_speakers) > SPEAKERS:
        raise TooLargeError(f"A message quotes at most {SPEAKERS} people.")
    return tuple(check_short_text(speaker, "speaker") for speaker in message.adopted_speakers)


def _cursor(message: SendUserMessageRequest, caller: Caller) -> str:
    """Adapters alone read threads."""
    cursor = message.thread_cursor
    if len(cursor) > CURSOR_CHARS:
        raise TooLargeError(f"The cursor of a thread has at most {CURSOR_CHARS} characters.")
    return cursor if caller.adapter else ""


def _may_create(session_id: SessionId, caller: Caller) -> bool:
    """Whether naming an id is enough: people name some, an adapter every thread of its channel."""
    if caller.adapter:
        return may_be_thread(session_id)
    return caller.is_operator and may_create_by_name(session_id)


def _check_speaks_for(sender: Sender, caller: Caller) -> None:
    if caller.channels is not None and parse_source(sender.source_kind) not in caller.channels:
        raise DeniedByPolicyError("This connection may not create sessions of that channel.")


def _unknown(session_id: SessionId) -> NotFoundError:
    return NotFoundError(f"There is no session {session_id}.")
