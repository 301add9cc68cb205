"""A client of the daemon's public API, as small as a test can use it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from netclaw.wire.v1 import admin_pb2, admin_pb2_grpc, common_pb2, gateway_pb2, gateway_pb2_grpc

Metadata = tuple[tuple[str, str], ...]
LIFECYCLE = 0
EVERYTHING = 127
WAIT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one subscriber saw until the turn boundary that lists its input."""

    input_id: str
    outputs: list[common_pb2.Output] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The last assembled text: the answer."""
        texts = [output.text for output in self.outputs if output.type == "text"]
        return texts[-1] if texts else ""

    @property
    def error(self) -> common_pb2.Output | None:
        """The error that preceded the boundary, if there was one."""
        errors = [output for output in self.outputs if output.type == "error"]
        return errors[-1] if errors else None

    @property
    def types(self) -> list[str]:
        """The kinds of outputs in their order."""
        return [output.type for output in self.outputs]


class Peer:
    """Speaks with one daemon; reconnects after each of its starts."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._channel: grpc.aio.Channel | None = None
        self._metadata: Metadata = ()

    async def connect(self) -> None:
        """Open a channel with the token of the daemon that runs now."""
        await self.close()
        token = (self._home / "run" / "operator.token").read_text().strip()
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._channel = grpc.aio.insecure_channel(
            f"unix:{self._home}/run/netclawd.sock",
            options=[("grpc.use_local_subchannel_pool", 1)],
        )
        self.gateway = gateway_pb2_grpc.GatewayStub(self._channel)
        self.admin = admin_pb2_grpc.AdminStub(self._channel)

    async def close(self) -> None:
        """Drop the channel."""
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    @property
    def channel(self) -> grpc.aio.Channel:
        """The open channel."""
        assert self._channel is not None
        return self._channel

    @property
    def metadata(self) -> Metadata:
        """The operator's token as call metadata."""
        return self._metadata

    async def send(
        self,
        session_id: str,
        text: str,
        *,
        message_id: str = "",
        sender: str = "",
        is_attended: bool = False,
    ) -> gateway_pb2.SendUserMessageResponse:
        """Admit one message; creates the session if its id may be named."""
        response: gateway_pb2.SendUserMessageResponse = await self.gateway.SendUserMessage(
            gateway_pb2.SendUserMessageRequest(
                session_id=session_id,
                text=text,
                source_message_id=message_id,
                create=True,
                attended=is_attended,
                sender=common_pb2.Sender(sender_id=sender),
            ),
            metadata=self._metadata,
            timeout=WAIT_S,
        )
        return response

    async def ensure(self, session_id: str) -> str:
        """Create a session by name."""
        response = await self.gateway.EnsureSession(
            gateway_pb2.EnsureSessionRequest(session_id=session_id), metadata=self._metadata
        )
        created: str = response.session_id
        return created

    async def attach(
        self,
        session_id: str,
        *,
        filter_bits: int = EVERYTHING,
        after: int | None = None,
        opened: asyncio.Event | None = None,
    ) -> AsyncIterator[common_pb2.Output]:
        """Outputs of a session until the caller stops; sets `opened` once it is subscribed."""
        request = gateway_pb2.AttachRequest(session_id=session_id, filter=filter_bits)
        if after is not None:
            request.after_seq = after
        call = self.gateway.Attach(request, metadata=self._metadata)
        try:
            await call.initial_metadata()
            if opened is not None:
                opened.set()
            async for batch in call:
                for output in batch.outputs:
                    yield output
        finally:
            call.cancel()

    async def turn(
        self, session_id: str, text: str, *, message_id: str = "", filter_bits: int = EVERYTHING
    ) -> Turn:
        """Send a message and collect what follows up to the boundary that consumed it."""
        await self.ensure(session_id)
        sent = await self.send(session_id, text, message_id=message_id)
        return await self.follow(session_id, sent, filter_bits=filter_bits)

    async def follow(
        self,
        session_id: str,
        sent: gateway_pb2.SendUserMessageResponse,
        *,
        filter_bits: int = EVERYTHING,
    ) -> Turn:
        """Collect outputs from an admission up to the boundary that consumed it."""
        turn = Turn(input_id=sent.input_id)
        stream = self.attach(session_id, filter_bits=filter_bits, after=sent.seq - 1)
        async with asyncio.timeout(WAIT_S):
            async for output in stream:
                turn.outputs.append(output)
                if output.type == "turn_completed" and sent.input_id in output.input_ids:
                    await stream.aclose()  # type: ignore[attr-defined]
                    return turn
        raise AssertionError(f"the stream ended early: {turn.types}")

    async def approvals(self, session_id: str, count: int = 1) -> list[gateway_pb2.PendingApproval]:
        """The open consent requests of a session, once there are so many; bounded."""
        request = gateway_pb2.ListApprovalsRequest(session_id=session_id)
        async with asyncio.timeout(WAIT_S):
            while True:
                found = await self.gateway.ListApprovals(request, metadata=self._metadata)
                if len(found.approvals) == count:
                    return list(found.approvals)
                await asyncio.sleep(0.02)

    async def answer(
        self, request: gateway_pb2.PendingApproval, option: str
    ) -> gateway_pb2.AnswerApprovalResponse:
        """Answer an open consent request."""
        response: gateway_pb2.AnswerApprovalResponse = await self.gateway.AnswerApproval(
            gateway_pb2.AnswerApprovalRequest(
                session_id=request.session_id, call_id=request.call_id, option=option
            ),
            metadata=self._metadata,
            timeout=WAIT_S,
        )
        return response

    async def first_delta(self, session_id: str, opened: asyncio.Event) -> str:
        """Watch a session until its first streamed text, which is returned."""
        async with asyncio.timeout(WAIT_S):
            async for output in self.attach(session_id, opened=opened):
                if output.type == "text_delta":
                    return output.text
        raise AssertionError("the stream ended without text")

    async def journal(self, session_id: str) -> list[dict[str, Any]]:
        """The stored journal, payloads decoded."""
        rows = []
        call = self.admin.ReadJournal(
            admin_pb2.ReadJournalRequest(session_id=session_id), metadata=self._metadata
        )
        async for row in call:
            payload = json.loads(row.payload)
            rows.append(
                {
                    "seq": row.seq,
                    "type": row.type,
                    "incarnation": row.incarnation,
                    "payload": payload,
                }
            )
        return rows

    async def rows(self) -> dict[str, gateway_pb2.SessionRow]:
        """Every session's catalog row, by id."""
        response = await self.gateway.ListSessions(
            gateway_pb2.ListSessionsRequest(), metadata=self._metadata
        )
        return {row.id: row for row in response.sessions}

    async def ledger(self, session_id: str) -> list[gateway_pb2.LedgerEntry]:
        """What became of a session's inputs."""
        response = await self.gateway.GetLedger(
            gateway_pb2.GetLedgerRequest(session_id=session_id, limit=1000),
            metadata=self._metadata,
        )
        return list(response.entries)

    async def status(self) -> admin_pb2.StatusResponse:
        """The daemon about itself."""
        response: admin_pb2.StatusResponse = await self.admin.Status(
            admin_pb2.StatusRequest(), metadata=self._metadata
        )
        return response

    async def check_storage(self) -> str:
        """What the database's full integrity check says; empty when it is sound."""
        answer = await self.admin.CheckStorage(
            admin_pb2.CheckStorageRequest(), metadata=self._metadata
        )
        return "" if answer.ok else str(answer.detail)

    async def shutdown(self, *, is_restart: bool) -> None:
        """Ask the daemon to stop, or to restart in place."""
        await self.admin.Shutdown(
            admin_pb2.ShutdownRequest(restart=is_restart), metadata=self._metadata
        )

    async def wait_status(
        self, is_met: Callable[[admin_pb2.StatusResponse], bool]
    ) -> admin_pb2.StatusResponse:
        """Poll the daemon's status until it is as wanted, and return it; bounded."""
        async with asyncio.timeout(WAIT_S):
            while not is_met(status := await self.status()):
                await asyncio.sleep(0.05)
        return status

    async def wait_row(
        self, session_id: str, is_met: Callable[[gateway_pb2.SessionRow], bool]
    ) -> gateway_pb2.SessionRow:
        """Poll a session's row until it is as wanted; bounded."""
        row = None
        try:
            async with asyncio.timeout(WAIT_S):
                while True:
                    row = (await self.rows()).get(session_id)
                    if row is not None and is_met(row):
                        return row
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{session_id} never became as wanted: {row}") from None

    async def wait_answered(self, session_id: str, count: int) -> list[gateway_pb2.LedgerEntry]:
        """Poll the ledger until `count` inputs exist and none waits or runs; bounded."""
        entries: list[gateway_pb2.LedgerEntry] = []
        try:
            async with asyncio.timeout(WAIT_S):
                while True:
                    entries = await self.ledger(session_id)
                    open_ones = [e for e in entries if e.outcome in {"waiting", "running"}]
                    if len(entries) >= count and not open_ones:
                        return entries
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{session_id} did not answer all: {entries}") from None

    async def detail(self, session_id: str) -> gateway_pb2.SessionDetail:
        """One session's row and storage."""
        response: gateway_pb2.SessionDetail = await self.gateway.GetSession(
            gateway_pb2.GetSessionRequest(session_id=session_id), metadata=self._metadata
        )
        return response

    async def history(self, session_id: str) -> list[gateway_pb2.HistoryItem]:
        """The chat items of a session."""
        response = await self.gateway.GetHistory(
            gateway_pb2.GetHistoryRequest(session_id=session_id), metadata=self._metadata
        )
        return list(response.items)

    async def restart_session(self, session_id: str) -> gateway_pb2.SessionRow:
        """Drain and start a session again; lifts a quarantine."""
        row: gateway_pb2.SessionRow = await self.admin.RestartSession(
            admin_pb2.SessionRef(session_id=session_id), metadata=self._metadata
        )
        return row

    async def stop_session(self, session_id: str) -> gateway_pb2.SessionRow:
        """End a session's process at its next safe point."""
        row: gateway_pb2.SessionRow = await self.admin.StopSession(
            admin_pb2.SessionRef(session_id=session_id), metadata=self._metadata
        )
        return row

    async def first_error(self, session_id: str, opened: asyncio.Event) -> common_pb2.Output:
        """Watch a session until it tells of an error, which is returned."""
        async with asyncio.timeout(WAIT_S):
            async for output in self.attach(session_id, opened=opened):
                if output.type == "error":
                    return output
        raise AssertionError("the stream ended without an error")

    async def wait_launched(self, session_id: str) -> None:
        """Poll the journal until a tool batch was started; bounded."""
        async with asyncio.timeout(WAIT_S):
            while not [
                r for r in await self.journal(session_id) if r["type"] == "ToolBatchStarted"
            ]:
                await asyncio.sleep(0.02)

    async def inject_slack(self, session_id: str, text: str) -> None:
        """Deliver a message as the Slack adapter would, with a thread to answer in."""
        await self.admin.Inject(
            gateway_pb2.SendUserMessageRequest(
                session_id=session_id,
                text=text,
                create=True,
                sender=common_pb2.Sender(
                    sender_id="U1",
                    principal="trusted",
                    audience="Team",
                    source_kind="slack",
                    boundary="slack:T1/C1",
                    authenticity="Verified",
                ),
                delivery_targets=[common_pb2.DeliveryTarget(channel="slack", address=session_id)],
            ),
            metadata=self._metadata,
        )

    async def claim(self, channel: str, start: str) -> list[gateway_pb2.OutboxItem]:
        """Claim waiting replies as an adapter start."""
        response = await self.gateway.ClaimOutbox(
            gateway_pb2.ClaimOutboxRequest(channel=channel, limit=10, adapter_start=start),
            metadata=self._metadata,
        )
        return list(response.items)

    async def confirm(self, row_id: int, start: str, external_id: str) -> None:
        """Confirm a delivered reply."""
        await self.gateway.ConfirmOutbox(
            gateway_pb2.ConfirmOutboxRequest(
                row_id=row_id, adapter_start=start, external_id=external_id
            ),
            metadata=self._metadata,
        )
