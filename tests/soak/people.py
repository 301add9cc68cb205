"""The people and programs of a soak: who writes, who steers, who watches.

Each session has one talker, who writes under many names, and one recorder, whose long
subscription notes what the checker needs. Guests come with other filters, read slowly and leave
without a word. An adapter posts what the outbox holds.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

from netclaw.wire.v1 import admin_pb2, common_pb2, gateway_pb2
from tests.process.peer import EVERYTHING, WAIT_S
from tests.process.world import World
from tests.soak.evidence import Ack, Evidence, Posted, Seen
from tests.soak.link import CutOffError, RefusedError, again, ask
from tests.soak.scripts import Scripts

MAX_WAITING = 5
"""Inputs that may wait in one session; a talker then waits too."""

POSTING_EVERY_S = 0.3
"""An adapter looks into the outbox so often."""

_SENDERS = (
    # weight, sender id, principal, source, whether an answer is posted to a channel
    (6, "", "operator", "cli", False),
    (4, "alice", "trusted", "slack", True),
    (3, "bob", "trusted", "slack", True),
    (2, "mallory", "untrusted", "slack", True),
    (3, "", "automation", "webhook", False),
    (2, "", "automation", "reminder", True),
)


class Talker:
    """Writes to one session, again and again, and steers it now and then."""

    def __init__(
        self, world: World, evidence: Evidence, *, session: str, seed: int, pause_s: float
    ) -> None:
        self._world = world
        self._evidence = evidence
        self._session = session
        self._random = Random(f"{seed}/{session}/talker")
        self._scripts = Scripts(
            Random(f"{seed}/{session}/scripts"),
            session=session,
            effects_file=evidence.effects_file,
        )
        self._pause_s = pause_s
        self._sent: list[gateway_pb2.SendUserMessageRequest] = []
        self.counts: Counter[str] = Counter()

    async def run(self, stop: asyncio.Event) -> None:
        """Talk until told to stop; what was begun is brought to its end."""
        while not stop.is_set():
            await self._pause(stop)
            act = self._random.choices(
                (self._write, self._repeat, self._stop_turn, self._compact), (82, 8, 6, 4)
            )[0]
            try:
                await act()
            except RefusedError:
                self.counts["refused"] += 1
            except CutOffError:
                self.counts["cut off"] += 1
                await again(self._world)

    async def _pause(self, stop: asyncio.Event) -> None:
        """From "at once" to "long enough to fall asleep"."""
        length = self._pause_s * self._random.choice((0, 0, 0.2, 0.5, 1, 1, 1.5, 4))
        try:
            await asyncio.wait_for(stop.wait(), length or 0.001)
        except TimeoutError:
            return

    async def _write(self) -> None:
        if await self._is_behind():
            return
        *_, sender, is_posted = self._sender()
        request = gateway_pb2.SendUserMessageRequest(
            session_id=self._session,
            text=self._scripts.message(),
            source_message_id=f"m{len(self._sent)}" if self._random.random() < 0.9 else "",
            create=True,
            sender=sender,
            attended=self._random.random() < 0.5,
        )
        if is_posted:
            target = common_pb2.DeliveryTarget(channel="slack", address=self._session)
            request.delivery_targets.append(target)
        if request.source_message_id:
            self._sent.append(request)
            await self._deliver(request)
        else:
            # Nobody could tell whether it arrived, so it is never sent again.
            await self._send(request)

    def _sender(self) -> tuple[common_pb2.Sender, bool]:
        weights = [weight for weight, *_ in _SENDERS]
        ((_, sender_id, principal, source, is_posted),) = self._random.choices(_SENDERS, weights)
        sender = common_pb2.Sender(
            sender_id=sender_id,
            principal=principal,
            source_kind=source,
            authenticity="Verified" if source == "slack" else "LocalProcess",
        )
        return sender, is_posted

    async def _is_behind(self) -> bool:
        rows = await ask(self._world.peer.rows)
        row = rows.get(self._session)
        return row is not None and row.pending_inputs >= MAX_WAITING

    async def _repeat(self) -> None:
        """Send a message once more under its id, as a client does that lost its answer."""
        if self._sent:
            self.counts["repeated"] += 1
            await self._deliver(self._random.choice(self._sent[-5:]))

    async def _deliver(self, request: gateway_pb2.SendUserMessageRequest) -> None:
        """Send until there is an answer: with its message id that is safe."""
        while True:
            try:
                await self._send(request)
            except CutOffError:
                self.counts["unconfirmed"] += 1
                await again(self._world)
            else:
                return

    async def _send(self, request: gateway_pb2.SendUserMessageRequest) -> None:
        peer = self._world.peer
        sent: gateway_pb2.SendUserMessageResponse = await ask(
            lambda: peer.admin.Inject(request, metadata=peer.metadata, timeout=WAIT_S)
        )
        self.counts["acknowledged"] += 1
        self._evidence.acks.append(
            Ack(
                session=self._session,
                input_id=sent.input_id,
                seq=sent.seq,
                message_id=request.source_message_id,
                is_duplicate=sent.duplicate,
            )
        )

    async def _stop_turn(self) -> None:
        peer = self._world.peer
        request = gateway_pb2.StopTurnRequest(session_id=self._session)
        answer = await ask(
            lambda: peer.gateway.StopTurn(request, metadata=peer.metadata, timeout=WAIT_S)
        )
        self.counts["turns stopped"] += answer.was_running

    async def _compact(self) -> None:
        peer = self._world.peer
        request = admin_pb2.SessionRef(session_id=self._session)
        await ask(
            lambda: peer.admin.CompactSession(request, metadata=peer.metadata, timeout=WAIT_S)
        )
        self.counts["compactions wished"] += 1


class Recorder:
    """Watches one session with every filter and notes durable outputs and phases."""

    def __init__(self, world: World, evidence: Evidence, *, session: str) -> None:
        self._world = world
        self._evidence = evidence
        self._session = session
        self._attachments = 0

    async def run(self) -> None:
        """Watch until cancelled; attach again whenever the stream ends."""
        while True:
            try:
                await ask(self._watch)
            except (CutOffError, RefusedError):
                await again(self._world)

    async def _watch(self) -> None:
        self._attachments += 1
        notes = self._evidence.seen[self._session]
        async for output in self._world.peer.attach(self._session, filter_bits=EVERYTHING):
            if output.type == "resync":
                return
            if output.seq or output.type == "processing":
                notes.append(
                    Seen(
                        attachment=self._attachments,
                        kind=output.type,
                        seq=output.seq,
                        incarnation=output.incarnation,
                        phase=output.phase,
                    )
                )


class Adapter:
    """Posts replies as a channel's adapter would, and dies now and then before it can say so."""

    def __init__(self, world: World, evidence: Evidence, *, seed: int) -> None:
        self._world = world
        self._evidence = evidence
        self._random = Random(f"{seed}/adapter")
        self._starts = 0

    async def run(self) -> None:
        """Post until cancelled."""
        try:
            while True:
                await self._world.is_up.wait()
                await self.post_some()
                await asyncio.sleep(POSTING_EVERY_S)
        finally:
            self._starts += 1  # what it was being handed at this moment lapses with its start

    async def post_some(self) -> None:
        """Claim what is due, post it, say so.

        When an answer is lost it begins anew: what it claimed unknowingly lapses with its start.
        """
        try:
            await self._post_some()
        except (CutOffError, RefusedError):
            self._starts += 1
            await again(self._world)

    async def _post_some(self) -> None:
        peer, start = self._world.peer, f"start-{self._starts}"
        items = await ask(lambda: peer.claim("slack", start))
        for item in items:
            post = Posted(row_id=item.row_id, address=item.address, text=item.text)
            self._evidence.posted.append(post)
            if self._random.random() < 0.1:
                self._starts += 1
                break
            await self._confirm(item.row_id, start, is_delivered=self._random.random() < 0.9)

    async def _confirm(self, row_id: int, start: str, *, is_delivered: bool) -> None:
        request = gateway_pb2.ConfirmOutboxRequest(row_id=row_id, adapter_start=start)
        if is_delivered:
            request.external_id = f"external-{row_id}"
        else:
            request.failure, request.retry_after_ms = "the channel refused it", 50
        peer = self._world.peer
        await ask(lambda: peer.gateway.ConfirmOutbox(request, metadata=peer.metadata))


class Guests:
    """Subscribers that come and go, with other filters, from other places, some of them slow."""

    def __init__(self, world: World, *, sessions: list[str], seed: int) -> None:
        self._world = world
        self._sessions = sessions
        self._random = Random(f"{seed}/guests")
        self.count = 0

    async def run(self) -> None:
        """Visit one session after another until cancelled."""
        while True:
            await self._world.is_up.wait()
            try:
                async with asyncio.timeout(self._random.choice((0.05, 0.3, 1.0, 3.0))):
                    await ask(self._visit)
            except TimeoutError:
                continue
            except (CutOffError, RefusedError):
                await again(self._world)

    async def _visit(self) -> None:
        self.count += 1
        pause_s = self._random.choice((0, 0, 0.02, 0.5))
        outputs = self._world.peer.attach(
            self._random.choice(self._sessions),
            filter_bits=self._random.randrange(EVERYTHING + 1),
            after=self._random.choice((None, 0, self._random.randrange(200))),
        )
        async for _ in outputs:
            await asyncio.sleep(pause_s)
