"""The parts of the adapter host, as the host and they see each other.

The host (`host.py`) owns the driver's connection and the stream to the daemon; each part has one
duty and is made once per process from a `HostContext`. A part raises `NetclawError` for what the
daemon refused and `DriverFailure` for what the platform did not do; the host logs either and goes
on. Every `run` is a task of the host's: it works until it is cancelled.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from netclaw.adapters.driver import ChannelConfig, Clicked, Driver, Incoming, Received
from netclaw.adapters.unfinished import Unfinished
from netclaw.wire.v1 import common_pb2, gateway_pb2


class Link(Protocol):
    """The daemon: the calls of gateway.proto, made with this channel's capability token.

    Raises the `NetclawError` that the daemon named; a send without a definite answer raises
    `DeliveryUnconfirmedError`, and with a source message id may simply be repeated. A daemon that
    is gone (`DaemonDownError`) is not waited for: this process ends with it.
    """

    async def ensure_session(
        self, request: gateway_pb2.EnsureSessionRequest
    ) -> gateway_pb2.EnsureSessionResponse:
        """See `Gateway.EnsureSession`."""

    async def send_user_message(
        self, request: gateway_pb2.SendUserMessageRequest
    ) -> gateway_pb2.SendUserMessageResponse:
        """See `Gateway.SendUserMessage`."""

    async def find_input(
        self, request: gateway_pb2.FindInputRequest
    ) -> gateway_pb2.SendUserMessageResponse:
        """See `Gateway.FindInput`."""

    async def get_session(
        self, request: gateway_pb2.GetSessionRequest
    ) -> gateway_pb2.SessionDetail:
        """See `Gateway.GetSession`."""

    async def claim_outbox(
        self, request: gateway_pb2.ClaimOutboxRequest
    ) -> gateway_pb2.ClaimOutboxResponse:
        """See `Gateway.ClaimOutbox`."""

    async def confirm_outbox(
        self, request: gateway_pb2.ConfirmOutboxRequest
    ) -> gateway_pb2.ConfirmOutboxResponse:
        """See `Gateway.ConfirmOutbox`."""

    def fetch_file(
        self, request: gateway_pb2.FetchFileRequest
    ) -> AsyncIterator[gateway_pb2.FilePiece]:
        """See `Gateway.FetchFile`."""

    async def find_reply(
        self, request: gateway_pb2.FindReplyRequest
    ) -> gateway_pb2.FindReplyResponse:
        """See `Gateway.FindReply`."""

    async def list_approvals(
        self, request: gateway_pb2.ListApprovalsRequest
    ) -> gateway_pb2.ListApprovalsResponse:
        """See `Gateway.ListApprovals`: of this channel's sessions and their child runs alone."""

    async def answer_approval(
        self, request: gateway_pb2.AnswerApprovalRequest
    ) -> gateway_pb2.AnswerApprovalResponse:
        """See `Gateway.AnswerApproval`."""

    async def upload(
        self, session_id: str, path: Path, *, name: str, media_type: str
    ) -> common_pb2.MediaRef:
        """Send a file's bytes; the reference goes into a message."""

    async def put_into_inbox(
        self, session_id: str, path: Path, *, name: str, media_type: str
    ) -> gateway_pb2.UploadResponse:
        """The same for a file that was checked: its session's tools see it from now on."""

    def attach(self, request: gateway_pb2.AttachRequest) -> AsyncIterator[common_pb2.OutputBatch]:
        """See `Gateway.Attach`; leaving the iteration ends the call."""


@dataclass(slots=True, kw_only=True)
class Counters:
    """What this process did since its start; shown by `status`. Parts count, the host reports."""

    received: int = 0
    duplicates: int = 0
    denied: int = 0
    ignored: int = 0
    admitted: int = 0
    delivered: int = 0
    retried: int = 0
    given_up: int = 0
    reconnects: int = 0


@dataclass(slots=True, kw_only=True)
class Gate:
    """Whether new messages are taken; closed when the daemon tells the adapter to end."""

    notice: str = ""
    """What a person is told meanwhile; empty while the gate is open."""

    @property
    def is_open(self) -> bool:
        """Whether ingress admits."""
        return not self.notice


@dataclass(frozen=True, slots=True, kw_only=True)
class HostContext:
    """What every part is made from."""

    config: ChannelConfig
    driver: Driver
    link: Link
    adapter_start: str
    """Names this start of the process; claims of another one lapse."""
    gate: Gate = field(default_factory=Gate)
    counters: Counters = field(default_factory=Counters)
    staging: Path
    """A private folder of this process for files on their way; empty at its start."""
    unfinished: Unfinished = field(default_factory=Unfinished)
    report_failure: Callable[[str], None] = lambda _: None
    """Shows a sentence (stable, without secrets) as the channel's last failure."""
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000


class Ingress(Protocol):
    """Takes messages in: duplicate check to acknowledgement, in the fixed order."""

    async def take(self, incoming: Incoming) -> None:
        """Deal with one `Received`, acknowledging it when it need not come again.

        The host calls it for one thread's messages one after another, for threads side by side.
        """


class Outbound(Protocol):
    """Delivers replies: claims the outbox, splits, posts, confirms."""

    async def run(self) -> None:
        """Deliver what is due, look again after `look`, keep the times of retries."""

    def look(self) -> None:
        """Something may have become due; cheap, called often."""

    async def settle(self) -> None:
        """Claim until nothing is due, then no more; return when all of it was confirmed.

        Before this the sessions ended: what they said last is due.
        """


class Prompts(Protocol):
    """Shows consent requests in their threads and takes the answers."""

    async def run(self) -> None:
        """Post, update and find prompts again, after every `look`."""

    def look(self) -> None:
        """Requests of the channel were opened, answered or withdrawn."""

    async def click(self, clicked: Clicked) -> None:
        """A button was pressed; the host acknowledges the event itself, before this."""

    async def take_letter(self, received: Received) -> bool:
        """Whether a message is an answer by letter to an open prompt; then it is dealt with.

        Ingress asks after the access list and the bot filter, before routing.
        """


class Progress(Protocol):
    """Shows in a thread that its session is at work."""

    async def run(self) -> None:
        """Set, renew and clear the signs."""

    def phase(self, news: gateway_pb2.ChannelNews) -> None:
        """A session of this channel is in another phase, see `ChannelNews`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One process's parts (`assembly.py` makes them)."""

    ingress: Ingress
    outbound: Outbound
    prompts: Prompts
    progress: Progress


Assemble = Callable[[HostContext], Parts]
