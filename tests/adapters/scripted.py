"""A driver and a daemon in memory: what they are asked is kept, and they fail as they are told."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

from netclaw.adapters.driver import (
    Abilities,
    Account,
    Attachment,
    Button,
    ChannelConfig,
    Found,
    Health,
    Incoming,
    Post,
    Received,
    RefusedFailure,
    Thread,
)
from netclaw.adapters.parts import HostContext
from netclaw.core.authority import DeliveryTarget, SourceKind
from netclaw.core.errors import NetclawError, NotFoundError
from netclaw.core.ids import SessionId, TurnId
from netclaw.core.session.events import OutboxRow
from netclaw.testing.memory_outbox import MemoryOutbox
from netclaw.wire.v1 import common_pb2, gateway_pb2

CHANNEL = "slack"
ABILITIES = Abilities(text_limit=100, has_buttons=True, has_edit=True, has_status=True)
PATIENCE_S = 10.0


async def until(condition: Callable[[], bool]) -> None:
    """Let everything run until something holds; bounded."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0)


async def quiet(rounds: int = 50) -> None:
    """Let everything run that can run by itself."""
    for _ in range(rounds):
        await asyncio.sleep(0)


class ScriptedDriver:
    """A platform that keeps posts by thread; implements `Driver`."""

    def __init__(self, abilities: Abilities = ABILITIES) -> None:
        self.abilities = abilities
        self.posts: list[Post] = []
        """As they are shown now."""
        self.ids: dict[str, str] = {}
        """Key to post id."""
        self.calls: list[str] = []
        self.refusals: deque[Exception] = deque()
        """Raised by the next posts instead of making them."""
        self.silent_failures: deque[Exception] = deque()
        """Raised by the next posts after making them."""
        self.edit_failures: deque[Exception] = deque()
        self.delete_failures: deque[Exception] = deque()
        self.signs: dict[str, list[str]] = defaultdict(list)
        self.gates: dict[str, asyncio.Event] = {}
        """Address to what its next post waits for."""
        self.stuck: asyncio.Event | None = None
        """What posts wait for after they are made."""
        self.broken: dict[str, Exception] = {}
        """Address to what its posts always meet."""

    async def post(self, post: Post) -> str:
        """Make a message."""
        self.calls.append(f"post {post.key}")
        gate = self.gates.pop(post.thread.address, None)
        if gate is not None:
            await gate.wait()
        if post.thread.address in self.broken:
            raise self.broken[post.thread.address]
        if self.refusals:
            raise self.refusals.popleft()
        if self.abilities.enforces_keys and post.key in self.ids:
            return self.ids[post.key]
        post_id = f"m{len(self.posts) + 1}"
        self.posts.append(post)
        self.ids[post.key] = post_id
        if self.stuck is not None:
            await self.stuck.wait()
        if self.silent_failures:
            raise self.silent_failures.popleft()
        return post_id

    async def find_post(self, thread: Thread, key: str) -> str | None:
        """A message by its key."""
        del thread
        self.calls.append(f"find {key}")
        return self.ids.get(key)

    async def edit(
        self, thread: Thread, post_id: str, text: str, buttons: tuple[Button, ...]
    ) -> None:
        """Replace a message."""
        del thread
        self.calls.append(f"edit {post_id}")
        if self.edit_failures:
            raise self.edit_failures.popleft()
        index = int(post_id[1:]) - 1
        if post_id not in self.ids.values():
            raise RefusedFailure("The message is gone.")
        self.posts[index] = replace(self.posts[index], text=text, buttons=buttons)

    async def delete(self, thread: Thread, post_id: str) -> None:
        """Remove a message."""
        del thread
        self.calls.append(f"delete {post_id}")
        if self.delete_failures:
            raise self.delete_failures.popleft()
        self.ids = {key: known for key, known in self.ids.items() if known != post_id}

    async def set_status(self, thread: Thread, text: str) -> None:
        """Keep a sign."""
        self.calls.append("sign")
        if self.refusals:
            raise self.refusals.popleft()
        self.signs[thread.address].append(text)

    def shown(self, address: str) -> list[str]:
        """The texts of a thread."""
        return [
            post.text
            for index, post in enumerate(self.posts, start=1)
            if post.thread.address == address and f"m{index}" in self.ids.values()
        ]

    def buttons(self, key: str) -> dict[str, Button]:
        """The buttons of a post as they are shown now, by label."""
        post = self.posts[int(self.ids[key][1:]) - 1]
        return {button.label: button for button in post.buttons}

    def health(self) -> Health:
        """Always there."""
        return Health.READY

    async def check(self) -> Account:
        """Not asked here."""
        raise NotImplementedError

    def events(self) -> AsyncIterator[Incoming]:
        """Not asked here."""
        raise NotImplementedError

    async def set_title(self, thread: Thread, title: str) -> None:
        """Not asked here."""
        raise NotImplementedError

    async def begin_thread(self, channel_id: str, post: str, key: str) -> Thread:
        """Not asked here."""
        raise NotImplementedError

    async def backfill(self, thread: Thread, *, after: str, limit: int) -> tuple[Received, ...]:
        """Not asked here."""
        raise NotImplementedError

    async def download(self, attachment: Attachment, target: Path, limit_bytes: int) -> None:
        """Not asked here."""
        raise NotImplementedError

    async def upload(self, thread: Thread, path: Path, name: str, key: str) -> str:
        """Not asked here."""
        raise NotImplementedError

    async def find_users(self, text: str) -> tuple[Found, ...]:
        """Not asked here."""
        raise NotImplementedError

    async def find_places(self, text: str) -> tuple[Found, ...]:
        """Not asked here."""
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is open."""


class ScriptedLink:
    """A daemon with an outbox and open requests; implements `Link`."""

    def __init__(self) -> None:
        self.outbox = MemoryOutbox()
        self.now_ms = 1_000
        self.failures: deque[NetclawError] = deque()
        """Raised by the next calls about the outbox."""
        self.confirmed: list[gateway_pb2.ConfirmOutboxRequest] = []
        self.approvals: dict[str, gateway_pb2.PendingApproval] = {}
        """Open requests by call id."""
        self.answers: list[gateway_pb2.AnswerApprovalRequest] = []
        self.answer_failures: deque[NetclawError] = deque()
        self.notice = ""
        self.outputs: dict[str, list[common_pb2.Output]] = defaultdict(list)
        """What sessions said."""
        self.deleted: set[str] = set()
        self.phases: dict[str, str] = {}
        self._said = asyncio.Condition()

    # The outbox ---------------------------------------------------------------------------

    def reply(self, address: str, text: str, *, turn: str = "t1") -> None:
        """A reply of a session waits for the channel."""
        row = OutboxRow(
            target=DeliveryTarget(channel=SourceKind(CHANNEL), address=address),
            text=text,
            turn_id=TurnId(turn),
            input_ids=(),
        )
        self.outbox.enqueue(SessionId(address), (row,))

    def state(self, row_id: int) -> str:
        """How a reply stands."""
        return next(one.state for one in self.outbox.replies if one.row_id == row_id)

    async def claim_outbox(
        self, request: gateway_pb2.ClaimOutboxRequest
    ) -> gateway_pb2.ClaimOutboxResponse:
        """Hand out the oldest of each binding."""
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.popleft()
        items = self.outbox.claim(
            request.channel,
            limit=request.limit,
            claimant=request.adapter_start,
            at=self.now_ms,
        )
        next_at = self.outbox.next_at(request.channel, claimant=request.adapter_start)
        return gateway_pb2.ClaimOutboxResponse(
            items=[
                gateway_pb2.OutboxItem(
                    row_id=item.row_id,
                    session_id=item.session_id,
                    address=item.target.address,
                    text=item.text,
                    attempts=item.attempts,
                    turn_id=item.turn_id,
                    taken_over=item.is_taken_over,
                )
                for item in items
            ],
            next_in_ms=0 if next_at is None else max(next_at - self.now_ms, 1),
        )

    async def confirm_outbox(
        self, request: gateway_pb2.ConfirmOutboxRequest
    ) -> gateway_pb2.ConfirmOutboxResponse:
        """Close a reply or keep it for later."""
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.popleft()
        self.confirmed.append(request)
        again_at = self.now_ms + request.retry_after_ms if request.retry_after_ms else 0
        self.outbox.confirm(
            request.row_id,
            claimant=request.adapter_start,
            external_id=request.external_id,
            failure=request.failure,
            next_attempt_at=again_at,
        )
        return gateway_pb2.ConfirmOutboxResponse()

    # Consents -----------------------------------------------------------------------------

    async def list_approvals(
        self, request: gateway_pb2.ListApprovalsRequest
    ) -> gateway_pb2.ListApprovalsResponse:
        """Two at a time."""
        await asyncio.sleep(0)
        rest = sorted(
            (item for item in self.approvals.values() if item.position > request.after),
            key=lambda item: item.position,
        )
        return gateway_pb2.ListApprovalsResponse(approvals=rest[:2], more=len(rest) > 2)

    async def answer_approval(
        self, request: gateway_pb2.AnswerApprovalRequest
    ) -> gateway_pb2.AnswerApprovalResponse:
        """Keep an answer; the request is open no more."""
        await asyncio.sleep(0)
        if self.answer_failures:
            raise self.answer_failures.popleft()
        if request.call_id not in self.approvals:
            raise NotFoundError("This request is not open.")
        del self.approvals[request.call_id]
        self.answers.append(request)
        return gateway_pb2.AnswerApprovalResponse(seq=9, notice=self.notice)

    # Sessions -----------------------------------------------------------------------------

    async def say(self, session_id: str, output: common_pb2.Output) -> None:
        """Let a session say something."""
        async with self._said:
            self.outputs[session_id].append(output)
            self._said.notify_all()

    async def delete(self, session_id: str) -> None:
        """Remove a session; its watchers are told."""
        async with self._said:
            self.deleted.add(session_id)
            self._said.notify_all()

    async def attach(
        self, request: gateway_pb2.AttachRequest
    ) -> AsyncIterator[common_pb2.OutputBatch]:
        """What a session said behind a seq, and goes on to say."""
        said = self.outputs[request.session_id]
        place = 0
        while True:
            async with self._said:
                while len(said) <= place and request.session_id not in self.deleted:
                    await self._said.wait()
            if request.session_id in self.deleted:
                return
            new, place = said[place:], len(said)
            wanted = [output for output in new if not output.seq or output.seq > request.after_seq]
            yield common_pb2.OutputBatch(outputs=wanted)

    async def get_session(
        self, request: gateway_pb2.GetSessionRequest
    ) -> gateway_pb2.SessionDetail:
        """The phase of a session."""
        if request.session_id in self.deleted:
            raise NotFoundError("There is no such session.")
        phase = self.phases.get(request.session_id, "processing")
        return gateway_pb2.SessionDetail(
            row=gateway_pb2.SessionRow(id=request.session_id, phase=phase)
        )

    async def ensure_session(
        self, request: gateway_pb2.EnsureSessionRequest
    ) -> gateway_pb2.EnsureSessionResponse:
        """Not asked here."""
        raise NotImplementedError

    async def send_user_message(
        self, request: gateway_pb2.SendUserMessageRequest
    ) -> gateway_pb2.SendUserMessageResponse:
        """Not asked here."""
        raise NotImplementedError

    async def find_input(
        self, request: gateway_pb2.FindInputRequest
    ) -> gateway_pb2.SendUserMessageResponse:
        """Not asked here."""
        raise NotImplementedError

    async def upload(
        self, session_id: str, path: Path, *, name: str, media_type: str
    ) -> common_pb2.MediaRef:
        """Not asked here."""
        raise NotImplementedError

    async def put_into_inbox(
        self, session_id: str, path: Path, *, name: str, media_type: str
    ) -> gateway_pb2.UploadResponse:
        """Not asked here."""
        raise NotImplementedError


def context_of(
    driver: ScriptedDriver,
    link: ScriptedLink,
    *,
    start: str = "s1",
    config: ChannelConfig | None = None,
    told: list[str] | None = None,
    now_ms: Callable[[], int] = lambda: 1_000,
) -> HostContext:
    """What parts are made from."""
    return HostContext(
        config=config or ChannelConfig(name=CHANNEL),
        driver=driver,
        link=link,
        adapter_start=start,
        staging=Path("/nonexistent"),
        report_failure=(told if told is not None else []).append,
        now_ms=now_ms,
    )
