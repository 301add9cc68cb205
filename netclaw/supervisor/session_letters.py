"""Carries messages from session to session, and their replies back, once each.

The database holds what is not settled; here are only those who wait for it now. A reply is told by
the call that waits, if it is there in time, and else by an input of the sender (see the store's
port). Nothing answers that input by itself, so two sessions never talk on by themselves.
"""

from __future__ import annotations

import asyncio
import logging

from netclaw.core.authority import narrower
from netclaw.core.errors import (
    DrainingError,
    InvalidArgumentError,
    NetclawError,
    NotFoundError,
    QuarantinedError,
    QueueFullError,
    StorageError,
)
from netclaw.core.ids import SessionId
from netclaw.core.session import inter_session as letters
from netclaw.core.session.admission import check_text
from netclaw.core.session.inter_session import SendStatus
from netclaw.ports.journal import AdmitRequest, Commit, SessionRecord
from netclaw.ports.session_sends import SendRequest, SentMessage
from netclaw.ports.sessions import SendOrder, SendReport, WaitQuestion
from netclaw.supervisor.consents import Asker
from netclaw.supervisor.envelope import check_layout
from netclaw.supervisor.ids import new_input_id
from netclaw.supervisor.router import Router
from netclaw.supervisor.services import Services
from netclaw.supervisor.session_sight import SessionSight, Viewer
from netclaw.wire import sessions as said

_log = logging.getLogger(__name__)

SETTLES = frozenset({"TurnRecorded", "TurnFailed", "SessionReset"})
"""After these a message may be answered, or a late reply due."""
MAX_PATIENCE_S = 30.0
"""Of one question; a tool asks again."""


class SessionLetters:
    """The messages between sessions of one daemon."""

    def __init__(self, services: Services, router: Router, sight: SessionSight) -> None:
        self._services = services
        self._router = router
        self._sight = sight
        self._involved: set[SessionId] | None = None
        """Senders and targets of messages that are not settled; None before the first look after
        a start, when anybody may be one."""
        self._waiting: dict[SessionId, set[asyncio.Future[None]]] = {}
        """Those who wait for a turn of a target to end."""
        self._looking: asyncio.Task[None] | None = None
        self._is_look_due = False
        services.health.when_recovered(self.look)

    # Questions of processes ---------------------------------------------------------------

    async def send(self, asker: Asker, payload: bytes) -> bytes:
        """Admit a message in its target; answered once that is durable."""
        order = said.decode(payload, SendOrder)
        self._check_stays()
        viewer = await self._sight.viewer(asker, order.asking)
        target = await self._target(viewer, order)
        request = await self._request(viewer, target, order)
        sent = await self._services.store.send_message(request)
        if self._involved is not None:
            self._involved |= {sent.sender, sent.target}
        self._is_look_due = True
        is_watched = order.watch and await self._watch(sent)
        return said.encode(
            SendReport(
                status=SendStatus.ACCEPTED,
                key=sent.target,
                input_id=sent.input_id,
                is_watched=is_watched,
            )
        )

    async def wait(self, asker: Asker, payload: bytes) -> bytes:
        """Say how a message's turn ended, as soon as it did, or that it goes on."""
        question = said.decode(payload, WaitQuestion)
        patience_s = min(max(question.patience_s, 0.0), MAX_PATIENCE_S)
        deadline = asyncio.get_running_loop().time() + patience_s
        sent = await self._found(asker, question)
        while sent is not None and sent.end is None:
            self._check_stays()
            self._check_runs(sent.target)
            change = self._next_end(sent.target)
            try:
                sent = await self._found(asker, question)
                if sent is not None and sent.end is None:
                    async with asyncio.timeout_at(deadline):
                        await change
            except TimeoutError:
                break
            finally:
                change.cancel()
            sent = await self._found(asker, question)
        if sent is None:
            raise NotFoundError("This call waits for no reply.")
        return said.encode(_report(sent))

    async def _found(self, asker: Asker, question: WaitQuestion) -> SentMessage | None:
        return await self._services.store.find_send(asker.session_id, question.call_id)

    async def _target(self, viewer: Viewer, order: SendOrder) -> SessionRecord:
        """Whom the message is for. Raises a `NetclawError` for whoever cannot get one."""
        if order.key:
            target = await self._sight.find(viewer, order.key)
        else:
            target = await self._sight.by_label(viewer, order.label)
        if target.session_id == viewer.session_id:
            raise InvalidArgumentError("A session sends no message to itself.")
        if target.is_quarantined:
            raise _held(target.session_id)
        self._check_runs(target.session_id)
        check_layout(target.session_id, target)
        return target

    def _check_stays(self) -> None:
        """Nobody is waited for while the daemon ends: the reply comes after the next start."""
        if self._router.is_draining:
            raise DrainingError("The daemon is stopping.")

    def _check_runs(self, target: SessionId) -> None:
        slot = self._router.find(target)
        if slot is not None and slot.hold is not None:
            raise _held(target)

    async def _request(
        self, viewer: Viewer, target: SessionRecord, order: SendOrder
    ) -> SendRequest:
        sender, asking = viewer.session_id, viewer.authority
        if len(order.message) > letters.MAX_MESSAGE_CHARS:
            raise InvalidArgumentError(
                f"A message has at most {letters.MAX_MESSAGE_CHARS} characters."
            )
        input_id = new_input_id()
        text = letters.message_text(sender, await self._clean(order.message), input_id)
        check_text(text, self._services.settings.current.daemon)
        return SendRequest(
            sender=sender,
            turn_id=order.asking.turn_id,
            call_id=order.call_id,
            message=AdmitRequest(
                session_id=target.session_id,
                input_id=input_id,
                source_message_id=letters.source_id(sender, order.call_id),
                text=text,
                authority=letters.authority_of_message(
                    asking, sender=sender, target=target.session_id, audience=target.audience
                ),
                attended=False,
                at=self._services.now_ms(),
            ),
            reply_authority=letters.authority_of_reply(
                asking,
                sender=sender,
                target=target.session_id,
                audience=narrower(viewer.record.audience, target.audience),
            ),
        )

    async def _clean(self, text: str) -> str:
        """A text without secrets; in a thread, because the loop must not wait for a long one."""
        return await asyncio.to_thread(self._services.redact, text)

    async def _watch(self, sent: SentMessage) -> bool:
        """Watch the session that received the message; a watch that fails undoes nothing."""
        try:
            return await self._services.store.watch_session(
                sent.sender, sent.target, at=self._services.now_ms()
            )
        except NetclawError as error:
            _log.warning("%s cannot watch %s: %s", sent.sender, sent.target, error.code.value)
            return False

    def _next_end(self, target: SessionId) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(target, set())
        waiting.add(future)
        future.add_done_callback(lambda done: self._stop_waiting(target, done))
        return future

    def _stop_waiting(self, target: SessionId, future: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(target, set())
        waiting.discard(future)
        if not waiting:
            self._waiting.pop(target, None)

    # Late replies -------------------------------------------------------------------------

    def on_commit(self, commit: Commit) -> None:
        """See whether what was committed settles a message."""
        if any(row.type in SETTLES for row in commit.rows):
            self._settle(commit.session_id)

    def on_deleted(self, session_id: SessionId) -> None:
        """What was sent to a session that is gone has its end, and nothing is committed there."""
        self._settle(session_id)

    def _settle(self, session_id: SessionId) -> None:
        if self._involved is not None and session_id not in self._involved:
            return
        for future in [*self._waiting.get(session_id, ())]:
            if not future.done():
                future.set_result(None)
        self.look()

    def look(self) -> None:
        """Deliver the late replies that are due: after a commit, at boot, after a full disk."""
        self._is_look_due = True
        if self._looking is None or self._looking.done():
            self._looking = self._services.tasks.start(self._look(), name="late replies")

    async def _look(self) -> None:
        while self._is_look_due:
            self._is_look_due = False
            try:
                known = await self._services.store.open_sends()
                for sent in known:
                    if sent.is_due:
                        await self._deliver(sent)
            except StorageError as error:
                self._services.health.note(error)
                return
            if not self._is_look_due:
                self._involved = {key for sent in known for key in (sent.sender, sent.target)}

    async def _deliver(self, sent: SentMessage) -> None:
        """Admit a late reply in its sender; one that cannot be told any more is dropped."""
        end = sent.end
        if end is None:
            return
        is_silent = letters.status_of(end, sent.reply) is SendStatus.NO_REPLY
        input_id = new_input_id()
        reply = AdmitRequest(
            session_id=sent.sender,
            input_id=input_id,
            source_message_id=letters.reply_id(sent.input_id),
            text=letters.reply_text(
                sent.target,
                end,
                await self._clean(sent.reply),
                answered=sent.input_id,
                input_id=input_id,
            ),
            authority=sent.reply_authority,
            attended=False,
            at=self._services.now_ms(),
        )
        try:
            if is_silent:
                await self._services.store.drop_send(sent.send_id)
            else:
                await self._services.store.deliver_reply(sent.send_id, reply)
        except QueueFullError:
            _log.info("a reply waits, because session %s has too many inputs", sent.sender)
        except (InvalidArgumentError, NotFoundError) as error:
            _log.info("a reply to session %s is dropped: %s", sent.sender, error.sentence)
            await self._services.store.drop_send(sent.send_id)
        except (StorageError, DrainingError):
            raise  # no other reply would fare better
        except NetclawError as error:
            _log.error("a reply to session %s waits: %s", sent.sender, error.sentence)


def _report(sent: SentMessage) -> SendReport:
    if sent.end is None:
        return SendReport(status=SendStatus.ACCEPTED, key=sent.target, input_id=sent.input_id)
    return SendReport(
        status=letters.status_of(sent.end, sent.reply),
        key=sent.target,
        input_id=sent.input_id,
        reply=sent.reply,
        error=letters.why(sent.end),
    )


def _held(session_id: SessionId) -> QuarantinedError:
    return QuarantinedError(
        f'Session "{session_id}" is held by its operator and runs nothing at present.'
    )
