"""Answers what processes ask of channels: messages that begin threads, people and places by name.

A message is durable before it is answered for, under the id of its call, so it goes out once
whichever process dies. Whether its destination may be written to is judged here, before anything is
kept, and again by the adapter, before anything is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from netclaw.core.authority import Audience, DeliveryTarget
from netclaw.core.errors import (
    DeniedByPolicyError,
    DrainingError,
    InvalidArgumentError,
    NotFoundError,
    OperationTimeoutError,
    StorageError,
    TooLargeError,
)
from netclaw.core.text import storable
from netclaw.ports.channels import (
    MAX_HITS,
    MAX_MESSAGE_CHARS,
    Hit,
    Hits,
    NameQuestion,
    PostOrder,
    PostQuestion,
    PostReport,
    PostState,
    Wanted,
)
from netclaw.ports.outbox import Opening, OpeningRequest, OutboxState
from netclaw.ports.sessions import Asking
from netclaw.supervisor.adapters import Adapter, Adapters
from netclaw.supervisor.consents import Asker
from netclaw.supervisor.outbox_watch import OutboxWatch
from netclaw.supervisor.router import Router
from netclaw.supervisor.services import Services
from netclaw.supervisor.session_sight import SessionSight
from netclaw.wire import channels as said

Handler = Callable[[Asker, bytes], Coroutine[None, None, bytes]]

MAX_PATIENCE_S = 30.0
"""Of one question; a tool asks again."""
LOOKUP_S = 45.0
NAME_CHARS = 80
_STATES = {OutboxState.DELIVERED: PostState.SENT, OutboxState.GIVEN_UP: PostState.FAILED}

NO_CHANNEL = "There is no enabled channel of this name."
NOT_LISTED = (
    "This destination may not be written to: the operator did not list it for the channel, or"
    " direct messages are off."
)
NO_ANSWER = "The channel gave no answer. Try again later."


class ChannelDesk:
    """All questions about channels."""

    def __init__(self, services: Services, router: Router, adapters: Adapters) -> None:
        self._services = services
        self._router = router
        self._adapters = adapters
        self._sight = SessionSight(services, router)
        self._kinds: dict[str, Handler] = {
            said.ASK_POST: self._post,
            said.ASK_POSTED: self._posted,
            said.ASK_NAME: self._name,
        }

    def takes(self, kind: str) -> bool:
        """Whether a question of this kind is about channels."""
        return kind in self._kinds

    async def answer(self, asker: Asker, kind: str, payload: bytes) -> bytes:
        """Answer one question; raises a `NetclawError` to refuse it."""
        return await self._kinds[kind](asker, payload)

    async def _post(self, asker: Asker, payload: bytes) -> bytes:
        order = said.decode(payload, PostOrder)
        if self._router.is_draining:
            raise DrainingError("The daemon is stopping.")
        await self._check(asker, order.asking)
        adapter = self._adapter(order.channel)
        _check_listed(adapter, order.destination)
        if not order.text.strip():
            raise InvalidArgumentError("The message is empty.")
        if len(order.text) > MAX_MESSAGE_CHARS:
            raise TooLargeError(f"A message has at most {MAX_MESSAGE_CHARS} characters.")
        request = OpeningRequest(
            session_id=asker.session_id,
            turn_id=order.asking.turn_id,
            call_id=order.call_id,
            target=DeliveryTarget(channel=adapter.source, address=order.destination),
            text=await asyncio.to_thread(self._services.redact, order.text),
            at=self._services.now_ms(),
        )
        try:
            opening = await self._services.store.open_thread(request)
        except StorageError as error:
            self._services.health.note(error)
            raise
        adapter.take_replies()
        return said.encode(_report(opening))

    async def _posted(self, asker: Asker, payload: bytes) -> bytes:
        question = said.decode(payload, PostQuestion)
        patience_s = min(max(question.patience_s, 0.0), MAX_PATIENCE_S)
        deadline = asyncio.get_running_loop().time() + patience_s
        watch = self._services.outbox_watch
        opening = await self._found(asker, question)
        while not opening.is_over and asyncio.get_running_loop().time() < deadline:
            event = watch.begin(opening.row_id)
            try:
                opening = await self._found(asker, question)
                if not opening.is_over:
                    await OutboxWatch.until(event, deadline)
            finally:
                watch.end(opening.row_id, event)
            opening = await self._found(asker, question)
        return said.encode(_report(opening))

    async def _found(self, asker: Asker, question: PostQuestion) -> Opening:
        found = await self._services.store.find_opening(asker.session_id, question.call_id)
        if found is None:
            raise NotFoundError("This call sent no message.")
        return found

    async def _name(self, asker: Asker, payload: bytes) -> bytes:
        question = said.decode(payload, NameQuestion)
        await self._check(asker, question.asking)
        adapter = self._adapter(question.channel)
        try:
            async with asyncio.timeout(LOOKUP_S):
                found = await adapter.find(question.wanted.value, question.text)
        except TimeoutError:
            found = None
        if found is None:
            raise OperationTimeoutError(NO_ANSWER)
        hits = tuple(
            Hit(id=hit.id, name=_shown(hit.name))
            for hit in found
            if _is_listed(adapter, hit.id, question.wanted)
        )
        return said.encode(Hits(hits=hits[:MAX_HITS]))

    async def _check(self, asker: Asker, asking: Asking) -> None:
        """Refuse a turn that is over, and one of the public."""
        viewer = await self._sight.viewer(asker, asking)
        if viewer.authority.requester.audience is Audience.PUBLIC or viewer.record.parent:
            raise DeniedByPolicyError("This conversation may not use channels.")

    def _adapter(self, name: str) -> Adapter:
        adapter = self._adapters.named(name.strip().casefold())
        if adapter is None:
            raise NotFoundError(NO_CHANNEL)
        return adapter


def _check_listed(adapter: Adapter, destination: str) -> None:
    """Raises `DeniedByPolicyError`. The rule is loaded with its first use: it brings the driver's
    contract, and most daemons have no channel.
    """
    from netclaw.adapters.acl import Refusal, judge_destination

    if isinstance(judge_destination(adapter.config, destination), Refusal):
        raise DeniedByPolicyError(NOT_LISTED)


def _is_listed(adapter: Adapter, found: str, wanted: Wanted) -> bool:
    from netclaw.adapters.acl import may_be_found
    from netclaw.adapters.driver import Place

    place = Place.DIRECT if wanted is Wanted.USERS else Place.CHANNEL
    return may_be_found(adapter.config, found, place)


def _report(opening: Opening) -> PostReport:
    state = _STATES.get(opening.state, PostState.QUEUED)
    key = opening.address if state is PostState.SENT else ""
    return PostReport(state=state, session_key=key)


def _shown(name: str) -> str:
    """A name of the platform as one line of data."""
    return "".join(char if char.isprintable() else " " for char in storable(name))[:NAME_CHARS]
