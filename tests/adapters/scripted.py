"""A driver and a daemon in memory: what they are asked is kept, and they fail as they are told."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from netclaw.adapters.driver import (
    ChannelConfig,
)
from netclaw.adapters.parts import HostContext
from netclaw.core.authority import DeliveryTarget, SourceKind
from netclaw.core.errors import NetclawError, NotFoundError
from netclaw.core.ids import SessionId, TurnId
from netclaw.core.session.events import OutboxRow
from netclaw.testing.memory_outbox import MemoryOutbox
from netclaw.wire.v1 import common_pb2, gateway_pb2
from tests.adapters.scripted_driver import ABILITIES as ABILITIES
from tests.adapters.scripted_driver import ScriptedDriver as ScriptedDriver

CHANNEL = "slack"
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
        self.files: dict[str, bytes] = {}
        self.reply_states: dict[str, str] = {}
        """Of turns; `none` without."""
        self.looked = 0
        """How often it was asked where a reply stands."""
        self.ensured: list[gateway_pb2.EnsureSessionRequest] = []
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
                    kind=item.kind.value,
                    file_name="" if item.file is None else item.file.path.rpartition("/")[2],
                    file_bytes=0 if item.file is None else item.file.size_bytes,
                    file_sha256="" if item.file is None else item.file.sha256,
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

    def fetch_file(
        self, request: gateway_pb2.FetchFileRequest
    ) -> AsyncIterator[gateway_pb2.FilePiece]:
        """The bytes of a file, in pieces."""
        return self._pieces(request)

    async def _pieces(
        self, request: gateway_pb2.FetchFileRequest
    ) -> AsyncIterator[gateway_pb2.FilePiece]:
        _, file = self.outbox.file(request.row_id, claimant=request.adapter_start)
        if file.path not in self.files:
            raise NotFoundError("The file is no longer there.")
        data = self.files[file.path]
        for place in range(0, len(data), 2):
            yield gateway_pb2.FilePiece(data=data[place : place + 2])

    async def find_reply(
        self, request: gateway_pb2.FindReplyRequest
    ) -> gateway_pb2.FindReplyResponse:
        """Where a reply stands."""
        await asyncio.sleep(0)
        self.looked += 1
        return gateway_pb2.FindReplyResponse(state=self.reply_states.get(request.turn_id, "none"))

    async def ensure_session(
        self, request: gateway_pb2.EnsureSessionRequest
    ) -> gateway_pb2.EnsureSessionResponse:
        """Know a session."""
        await asyncio.sleep(0)
        self.ensured.append(request)
        return gateway_pb2.EnsureSessionResponse(session_id=request.session_id)

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
