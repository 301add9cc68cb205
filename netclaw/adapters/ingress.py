"""Takes a channel's messages in, in the one fixed order (issue 7 item 2).

Duplicate check, access list, bots, answers by letter, drain gate, routing, normalisation, binding,
files, admission; only then the platform hears that the message was taken. A crash in between makes
a duplicate, which is recognised by the message's own id and answered once.

The drain gate keeps nothing out: while the daemon ends, messages are still admitted, because what
is stored runs after the next start (protocol "Recovery, exactly"). It spares them the reading of
their thread, ends every wait for the daemon, and tells the person once in each thread.
"""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from netclaw.adapters.acl import Refusal, Standing, judge
from netclaw.adapters.attachments import NOTHING, Files, Taken
from netclaw.adapters.backfill import (
    Backfill,
    Cursor,
    Threads,
    ThreadState,
    needs_reading,
    quoted,
    speakers,
)
from netclaw.adapters.bounded import bounded
from netclaw.adapters.driver import DriverFailure, Health, Incoming, Post, Received, Thread
from netclaw.adapters.normalise import compose, normalise
from netclaw.adapters.parts import HostContext
from netclaw.adapters.patience import Patience
from netclaw.adapters.registry import source_kind_of
from netclaw.adapters.routing import Verdict, route
from netclaw.core.authority import Authenticity
from netclaw.core.errors import (
    DaemonDownError,
    ErrorCode,
    InputIncompatibleError,
    NetclawError,
    NotFoundError,
    UnauthenticatedError,
)
from netclaw.wire.v1 import common_pb2, gateway_pb2

_log = logging.getLogger(__name__)

REMEMBERED_EVENTS = 4096
REMEMBERED_NOTICES = 4096
BUSY = "netclaw still has other messages of this conversation to answer; yours is next in line."
NOT_TAKEN = "netclaw could not take this message ({code})."

TakeLetter = Callable[[Received], Awaitable[bool]]


class Recent:
    """The newest ids of something, at most so many; the oldest goes first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._ids: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, item: str) -> bool:
        return item in self._ids

    def add(self, item: str) -> bool:
        """Remember an id; whether it is new."""
        is_new = item not in self._ids
        self._ids[item] = None
        if len(self._ids) > self._limit:
            self._ids.popitem(last=False)
        return is_new


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a message."""

    reason: str = ""
    """Why it was not admitted: a stable word of the log; empty if it was."""
    notice: str = ""
    """What the person is told about this message."""
    standing_notice: str = ""
    """What the person is told once in the thread, however many messages it concerns."""


class Pipeline:
    """Ingress of one channel; implements `parts.Ingress`."""

    def __init__(
        self,
        context: HostContext,
        take_letter: TakeLetter,
        *,
        patience: Patience | None = None,
        files: Files | None = None,
        backfill: Backfill | None = None,
    ) -> None:
        self._context = context
        self._take_letter = take_letter
        self._patience = patience or Patience(context.gate, context.report_failure)
        self._files = files or Files(context, self._patience)
        self._backfill = backfill or Backfill(context)
        self._source = source_kind_of(context.config.name).value
        self._threads = Threads()
        self._events = Recent(REMEMBERED_EVENTS)
        self._notices = Recent(REMEMBERED_NOTICES)

    async def take(self, incoming: Incoming) -> None:
        """Deal with one message; it is acknowledged, or comes again."""
        received = incoming.event
        if not isinstance(received, Received):
            return
        self._context.counters.received += 1
        try:
            outcome = await self._deal(received)
        except Exception:
            # Not every platform brings it again: then it is read with the next one.
            self._fall_behind(received.thread)
            raise
        self._events.add(received.event_id)
        try:
            await incoming.acknowledge()
        finally:
            # If the platform did not hear it, it comes again as a duplicate, of which nobody hears.
            await self._close(received, outcome)

    async def _close(self, received: Received, outcome: Outcome) -> None:
        if outcome.reason:
            _log.info(
                "message %s in %s was not taken: %s",
                received.event_id,
                received.thread.address,
                outcome.reason,
            )
        await self._tell(received, outcome)

    # The order --------------------------------------------------------------------------------

    async def _deal(self, received: Received) -> Outcome:
        counters = self._context.counters
        state = None
        is_known = received.event_id in self._events
        if not is_known:
            state = await self._state(received.thread)
            is_known = state is not None and await self._is_stored(received, state)
        if is_known:
            counters.duplicates += 1
            return Outcome(reason="duplicate")
        standing = judge(self._context.config, received)
        if isinstance(standing, Refusal) and not received.is_own:
            counters.denied += 1
            return Outcome(reason=standing.value)
        if isinstance(standing, Refusal) or received.is_own or received.is_bot:
            # Our own posts are nobody whom the lists keep out, and are not counted as that.
            counters.ignored += 1
            return Outcome(reason="own_message" if received.is_own else "bot_message")
        if await self._take_letter(received):
            return Outcome(reason="approval_answer")
        return await self._route(received, standing, state)

    async def _is_stored(self, received: Received, state: ThreadState) -> bool:
        """Whether a message was admitted, by itself or quoted by another one."""
        return received.event_id in state.cursor.adopted or await self._is_admitted(received)

    async def _is_admitted(self, received: Received) -> bool:
        request = gateway_pb2.FindInputRequest(
            session_id=received.thread.address, source_message_id=received.event_id
        )
        try:
            await self._patience.call(lambda: self._context.link.find_input(request))
        except NotFoundError:
            return False
        return True

    async def _state(self, thread: Thread) -> ThreadState | None:
        """What is known of a thread; None if it has no session."""
        known = self._threads.get(thread.address)
        if known is not None:
            return known
        request = gateway_pb2.EnsureSessionRequest(session_id=thread.address, must_exist=True)
        try:
            found = await self._patience.call(lambda: self._context.link.ensure_session(request))
        except NotFoundError:
            return None
        state = ThreadState(cursor=Cursor.parse(found.thread_cursor))
        return self._threads.put(thread.address, state)

    async def _route(
        self, received: Received, standing: Standing, state: ThreadState | None
    ) -> Outcome:
        found = route(self._context.config, received, has_session=state is not None)
        if found.verdict is Verdict.IGNORE:
            return self._ignored(state, found.reason)
        text = normalise(received.text, received.mention)
        if not text and not received.attachments:
            return self._ignored(state, "empty")
        letter = _Letter(
            received=received,
            text=text,
            sender=self._sender(received, standing),
            may_create=found.verdict is Verdict.START_OR_CONTINUE,
        )
        try:
            return await self._bind(letter, state)
        except NotFoundError:
            # The session was deleted meanwhile, and this message is no reason for another one.
            self._threads.forget(received.thread.address)
            return self._ignored(None, "no_session")
        except (DaemonDownError, UnauthenticatedError):
            raise
        except NetclawError as error:
            return self._not_taken(error)

    def _fall_behind(self, thread: Thread) -> None:
        state = self._threads.get(thread.address)
        if state is not None:
            state.is_behind = True

    def _ignored(self, state: ThreadState | None, reason: str) -> Outcome:
        if state is not None:
            state.is_behind = True
        self._context.counters.ignored += 1
        return Outcome(reason=reason)

    def _not_taken(self, error: NetclawError) -> Outcome:
        """The daemon will never take it; what may pass ends otherwise only with the channel."""
        if not self._context.gate.is_open:
            raise error
        self._context.counters.denied += 1
        self._context.report_failure(error.sentence)
        code = error.code.value
        return Outcome(reason=f"refused_{code}", notice=NOT_TAKEN.format(code=code))

    # Binding and admission --------------------------------------------------------------------

    async def _bind(self, letter: _Letter, state: ThreadState | None) -> Outcome:
        """Find or make the session, bring what belongs to the message, admit it."""
        received = letter.received
        connection = self._context.counters.reconnects
        cursor = state.cursor if state is not None else Cursor()
        gap: tuple[Received, ...] | None = ()
        if needs_reading(received, state, connection):
            is_open = self._context.gate.is_open
            gap = await self._backfill.gap(received, cursor, self._is_admitted) if is_open else None
        files = await self._bring_files(letter, gap or ())
        text = compose(letter.text, context=quoted(gap or ()), files=files.files)
        if not letter.text and not files.files:
            self._context.counters.ignored += 1
            return Outcome(reason="no_file_taken", notice=files.notice)
        moved = cursor.moved(received, tuple(message.event_id for message in gap or ()))
        response = await self._admit(
            gateway_pb2.SendUserMessageRequest(
                session_id=received.thread.address,
                text=text,
                media=files.pictures,
                sender=letter.sender,
                source_message_id=received.event_id,
                attended=True,
                delivery_targets=[
                    common_pb2.DeliveryTarget(channel=self._source, address=received.thread.address)
                ],
                create=letter.may_create,
                adopted_speakers=speakers(gap or ()),
                thread_cursor="" if gap is None else str(moved),
            ),
            received,
        )
        self._read(received, connection, cursor if gap is None else moved, was_read=gap is not None)
        # One that is called a duplicate here is our own, sent again for want of an answer.
        self._context.counters.admitted += 1
        notice = response.notice or self._context.gate.notice
        return Outcome(notice=files.notice, standing_notice=notice)

    def _read(self, received: Received, connection: int, cursor: Cursor, *, was_read: bool) -> None:
        """The thread has a session now and was read so far."""
        address = received.thread.address
        known = self._threads.get(address)
        state = known or self._threads.put(address, ThreadState(cursor=cursor))
        state.cursor = cursor
        # What is written until the platform has us again is not read yet.
        if was_read and self._context.driver.health() is Health.READY:
            state.read_in = connection
            state.is_behind = False

    async def _bring_files(self, letter: _Letter, gap: tuple[Received, ...]) -> Taken:
        """The files of a message and, as far as there is room, of what it quotes."""
        received = letter.received
        quoted_files = [message for message in gap if message.attachments and not message.is_own]
        if not received.attachments and not quoted_files:
            return NOTHING
        address = received.thread.address
        request = gateway_pb2.EnsureSessionRequest(
            session_id=address, must_exist=not letter.may_create, sender=letter.sender
        )
        found = await self._patience.call(lambda: self._context.link.ensure_session(request))
        taken = await self._files.take(address, found.audience, received.attachments)
        rule = self._context.config.attachments.get(found.audience)
        room = rule.max_files_per_message if rule is not None else 0
        room -= len(received.attachments)
        files, pictures = list(taken.files), list(taken.pictures)
        for message in reversed(quoted_files):
            chosen = message.attachments[: max(room, 0)]
            if not chosen:
                break
            room -= len(chosen)
            # Nobody is told of those that are refused: nobody sends them now.
            old = await self._files.take(
                address, found.audience, chosen, sender_id=message.sender_id
            )
            files += old.files
            pictures += old.pictures
        return Taken(files=tuple(files), pictures=tuple(pictures), notice=taken.notice)

    async def _admit(
        self, request: gateway_pb2.SendUserMessageRequest, received: Received
    ) -> gateway_pb2.SendUserMessageResponse:
        async def on_wait(error: NetclawError) -> None:
            if error.code is ErrorCode.QUEUE_FULL:
                await self._say_once(received.thread, BUSY)

        async def send() -> gateway_pb2.SendUserMessageResponse:
            return await self._context.link.send_user_message(request)

        try:
            return await self._patience.call(send, on_wait=on_wait)
        except InputIncompatibleError:
            if not request.media:
                raise
            # The model takes no pictures: it has their names and can hand the files on.
            del request.media[:]
            return await self._patience.call(send, on_wait=on_wait)

    def _sender(self, received: Received, standing: Standing) -> common_pb2.Sender:
        return common_pb2.Sender(
            sender_id=received.sender_id,
            principal=standing.principal.value,
            audience=standing.audience.value,
            source_kind=self._source,
            authenticity=Authenticity.VERIFIED.value,
            boundary=received.thread.boundary,
        )

    # What people are told ---------------------------------------------------------------------

    async def _tell(self, received: Received, outcome: Outcome) -> None:
        if outcome.standing_notice:
            await self._say_once(received.thread, outcome.standing_notice)
        if outcome.notice:
            await self._say(received.thread, outcome.notice, f"about {received.event_id}")

    async def _say_once(self, thread: Thread, text: str) -> None:
        if self._notices.add(f"{thread.address} {text}"):
            await self._say(thread, text, f"{self._context.adapter_start} {text}")

    async def _say(self, thread: Thread, text: str, about: str) -> None:
        """Post a sentence of our own; `about` makes it one of its kind."""
        digest = hashlib.sha256(f"{thread.address} {about}".encode("utf-8", "replace"))
        post = Post(thread=thread, key=f"say.{digest.hexdigest()[:16]}", text=text)
        try:
            await bounded(self._context.driver.post(post))
        except DriverFailure as failure:
            _log.warning("a person was not told something: %s", failure.sentence)
        except Exception:  # noqa: BLE001 - a driver's fault concerns this sentence alone
            _log.exception("a person was not told something")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Letter:
    """A message that is to be admitted."""

    received: Received
    text: str
    sender: common_pb2.Sender
    may_create: bool
