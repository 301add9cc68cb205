"""A daemon that answers as it is told, over real gRPC on the real socket of a home.

It keeps the protocol's promises that clients rely on (admission before the answer, replay after a
seq, errors with ErrorInfo), and can break off at any point.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message

from netclaw.config.home import Home
from netclaw.core.errors import NetclawError, NotFoundError
from netclaw.wire.errors import to_failure
from netclaw.wire.v1 import admin_pb2, gateway_pb2
from netclaw.wire.v1.common_pb2 import JournalRow, Output, OutputBatch
from tests.cli.scripted_admin import Admin

TOKEN = "scripted-token"
AT_MS = 1_700_000_000_123


class Context(Protocol):
    """What is used of a gRPC server's context."""

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]: ...
    def is_active(self) -> bool: ...
    def set_trailing_metadata(self, metadata: tuple[tuple[str, bytes], ...]) -> None: ...
    def abort(self, code: grpc.StatusCode, details: str) -> NoReturn: ...


Script = Callable[[gateway_pb2.SendUserMessageRequest, str], list[Output]]
"""From an admitted message and its input id to what subscribers see."""


def said(text: str, *, turn: str = "turn1") -> Script:
    """A turn that answers with a text, streamed in two pieces."""

    def script(request: gateway_pb2.SendUserMessageRequest, input_id: str) -> list[Output]:
        del request
        usage = Output(type="usage", turn_id=turn, context_window=8000, seq=11)
        usage.usage.input_tokens, usage.usage.output_tokens = 7, 3
        half = len(text) // 2
        return [
            Output(type="text_delta", turn_id=turn, text=text[:half]),
            Output(type="text_delta", turn_id=turn, text=text[half:]),
            Output(type="text", turn_id=turn, text=text, seq=11),
            usage,
            completed(input_id, turn=turn, seq=11),
        ]

    return script


def completed(
    *input_ids: str, turn: str = "turn1", seq: int = 11, outcome: str = "completed"
) -> Output:
    """The end of a turn; an empty outcome is a failure."""
    return Output(
        type="turn_completed", turn_id=turn, input_ids=input_ids, outcome=outcome, seq=seq
    )


@dataclass
class ScriptedDaemon:
    """One daemon of one home; `calls` records every request by method."""

    home: Home
    script: Script = field(default_factory=lambda: said("hello from the script"))
    before_admission: Callable[[], None] = lambda: None
    on_call: Callable[[str], None] = lambda _name: None
    status: admin_pb2.StatusResponse = field(default_factory=admin_pb2.StatusResponse)
    rows: dict[str, gateway_pb2.SessionRow] = field(default_factory=dict)
    refuse: dict[str, NetclawError] = field(default_factory=dict)
    """Method name to the error that it answers with."""
    replies: dict[str, Message] = field(default_factory=dict)
    """Method name to the reply of methods without a life of their own."""
    journal: list[JournalRow] = field(default_factory=list)
    notice: str = ""
    tail: queue.Queue[admin_pb2.SignalsTail | None] = field(default_factory=queue.Queue)
    """What the one reader of the signal log is sent; None ends its stream."""
    published: list[Output] = field(default_factory=list)
    """Everything ever published: the past that a late subscriber is shown."""

    def __post_init__(self) -> None:
        self.calls: list[tuple[str, Message]] = []
        self._queues: list[queue.Queue[list[Output] | None]] = []
        self._server: grpc.Server | None = None
        self._inputs: dict[str, str] = {}
        self._gone = threading.Event()
        self._attached = threading.Event()
        self._publishing = threading.Lock()
        self.status.state = self.status.state or "running"
        self.status.pid = self.status.pid or 4242
        self.status.generation = self.status.generation or 1
        self.status.version = "9.9"

    def __enter__(self) -> ScriptedDaemon:
        self.start()
        return self

    def __exit__(self, *details: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen."""
        self.home.run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.home.operator_token.write_text(TOKEN)
        self._server = grpc.server(ThreadPoolExecutor(8))
        self._server.add_generic_rpc_handlers(
            (
                handlers_of(gateway_pb2.DESCRIPTOR.services_by_name["Gateway"], _Gateway(self)),
                handlers_of(admin_pb2.DESCRIPTOR.services_by_name["Admin"], Admin(self)),
            )
        )
        self._server.add_insecure_port(f"unix:{self.home.socket}")
        self._server.start()

    def stop(self) -> None:
        """Break everything off, as a killed daemon does; the socket file stays."""
        server, self._server = self._server, None
        if server is not None:
            for waiting in self._queues:
                waiting.put(None)
            self._queues.clear()
            self._attached.clear()
            self.tail = queue.Queue()  # a reader that is being cut off takes nothing of the next
            server.stop(None)
            self._gone.set()

    def come_back(self) -> None:
        """Listen again once the end is complete."""
        assert self._gone.wait(10)
        self.start()

    def publish(self, *outputs: Output) -> None:
        """Show outputs to every subscriber, as one batch."""
        with self._publishing:
            self.published += outputs
            for waiting in self._queues:
                waiting.put(list(outputs))

    def requests(self, method: str) -> list[Message]:
        """The requests of one method."""
        return [request for name, request in self.calls if name == method]

    def row(self, session_id: str) -> gateway_pb2.SessionRow:
        """A session's row, made if it is new."""
        return self.rows.setdefault(
            session_id,
            gateway_pb2.SessionRow(
                id=session_id,
                channel="cli",
                audience="Personal",
                phase="passive",
                head_seq=10,
                life=1,
                kind="main",
            ),
        )

    def note(self, name: str, request: Message, context: Context) -> None:
        """Record a call; refuse it if it is to be refused or carries no token."""
        self.calls.append((name, request))
        self.on_call(name)
        if dict(context.invocation_metadata()).get("authorization") != f"Bearer {TOKEN}":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "no token")
        error = self.refuse.get(name)
        if error is not None:
            fail(context, error)

    def known(self, name: str, session_id: str, context: Context) -> gateway_pb2.SessionRow:
        """The row of a session that must exist."""
        found = self.rows.get(session_id)
        if found is None:
            fail(context, NotFoundError(f"There is no session {session_id} ({name})."))
        return found

    def await_subscriber(self) -> None:
        """Wait for whoever called Attach before it sent: what has no seq is shown only once."""
        self._attached.wait(5)

    def admit(
        self, request: gateway_pb2.SendUserMessageRequest
    ) -> gateway_pb2.SendUserMessageResponse:
        """Make a message durable, then play the script."""
        self.before_admission()
        known = self._inputs.get(request.source_message_id)
        input_id = known or f"input{len(self._inputs) + 1}"
        self._inputs[request.source_message_id or input_id] = input_id
        if known is None:
            self.publish(*self.script(request, input_id))
        return gateway_pb2.SendUserMessageResponse(
            input_id=input_id, seq=10, duplicate=known is not None, notice=self.notice
        )

    def watch(self, after: int | None, context: Context) -> Iterator[OutputBatch]:
        """A subscriber's stream."""
        waiting: queue.Queue[list[Output] | None] = queue.Queue()
        with self._publishing:  # the past and the present meet without a gap
            past = [output for output in self.published if after is not None and output.seq > after]
            self._queues.append(waiting)
            self._attached.set()
        if past:
            yield OutputBatch(outputs=past)
        while context.is_active():
            try:
                outputs = waiting.get(timeout=0.05)
            except queue.Empty:
                continue
            if outputs is None:
                return
            yield OutputBatch(outputs=outputs)


def fail(context: Context, error: NetclawError) -> NoReturn:
    """Answer with an error as the daemon dresses it."""
    failure = to_failure(error)
    context.set_trailing_metadata(failure.trailing_metadata)
    context.abort(failure.status, failure.details)


def handlers_of(service: ServiceDescriptor, implementation: object) -> grpc.GenericRpcHandler:
    """Bind the methods that an object has; the others are unimplemented, as gRPC says it."""
    bound: dict[str, Any] = {}
    for method in service.methods:
        work = getattr(implementation, method.name, None)
        if work is None:
            continue
        make = (
            grpc.unary_stream_rpc_method_handler
            if method.server_streaming
            else grpc.unary_unary_rpc_method_handler
        )
        kind = message_factory.GetMessageClass(method.input_type)
        bound[method.name] = make(work, kind.FromString, lambda reply: reply.SerializeToString())
    return grpc.method_handlers_generic_handler(service.full_name, bound)


class _Gateway:
    def __init__(self, daemon: ScriptedDaemon) -> None:
        self._daemon = daemon

    def EnsureSession(
        self, request: gateway_pb2.EnsureSessionRequest, context: Context
    ) -> gateway_pb2.EnsureSessionResponse:
        self._daemon.note("EnsureSession", request, context)
        session_id = request.session_id or "cli/aaaaaaaaaa"
        if "/" in session_id and not session_id.startswith("cli/"):
            self._daemon.known("EnsureSession", session_id, context)
        is_new = session_id not in self._daemon.rows
        self._daemon.row(session_id)
        return gateway_pb2.EnsureSessionResponse(session_id=session_id, created=is_new)

    def SendUserMessage(
        self, request: gateway_pb2.SendUserMessageRequest, context: Context
    ) -> gateway_pb2.SendUserMessageResponse:
        self._daemon.note("SendUserMessage", request, context)
        self._daemon.await_subscriber()
        return self._daemon.admit(request)

    def Attach(self, request: gateway_pb2.AttachRequest, context: Context) -> Iterator[OutputBatch]:
        self._daemon.note("Attach", request, context)
        self._daemon.known("Attach", request.session_id, context)
        after = request.after_seq if request.HasField("after_seq") else None
        yield from self._daemon.watch(after, context)

    def StopTurn(
        self, request: gateway_pb2.StopTurnRequest, context: Context
    ) -> gateway_pb2.StopTurnResponse:
        self._daemon.note("StopTurn", request, context)
        return gateway_pb2.StopTurnResponse(was_running=True)

    def AnswerApproval(
        self, request: gateway_pb2.AnswerApprovalRequest, context: Context
    ) -> gateway_pb2.AnswerApprovalResponse:
        self._daemon.note("AnswerApproval", request, context)
        return gateway_pb2.AnswerApprovalResponse(seq=12)

    def ListApprovals(
        self, request: gateway_pb2.ListApprovalsRequest, context: Context
    ) -> gateway_pb2.ListApprovalsResponse:
        self._daemon.note("ListApprovals", request, context)
        reply = self._daemon.replies.get("ListApprovals", gateway_pb2.ListApprovalsResponse())
        assert isinstance(reply, gateway_pb2.ListApprovalsResponse)
        return reply

    def ListSessions(
        self, request: gateway_pb2.ListSessionsRequest, context: Context
    ) -> gateway_pb2.ListSessionsResponse:
        self._daemon.note("ListSessions", request, context)
        names = sorted(name for name in self._daemon.rows if name > request.after_id)
        page = [self._daemon.rows[name] for name in names[: request.limit]]
        return gateway_pb2.ListSessionsResponse(sessions=page)

    def GetSession(
        self, request: gateway_pb2.GetSessionRequest, context: Context
    ) -> gateway_pb2.SessionDetail:
        self._daemon.note("GetSession", request, context)
        detail = gateway_pb2.SessionDetail()
        reply = self._daemon.replies.get("GetSession")
        if isinstance(reply, gateway_pb2.SessionDetail):
            detail.MergeFrom(reply)
        detail.row.CopyFrom(self._daemon.known("GetSession", request.session_id, context))
        return detail

    def GetHistory(
        self, request: gateway_pb2.GetHistoryRequest, context: Context
    ) -> gateway_pb2.GetHistoryResponse:
        self._daemon.note("GetHistory", request, context)
        reply = self._daemon.replies.get("GetHistory", gateway_pb2.GetHistoryResponse())
        assert isinstance(reply, gateway_pb2.GetHistoryResponse)
        return reply

    def GetLedger(
        self, request: gateway_pb2.GetLedgerRequest, context: Context
    ) -> gateway_pb2.GetLedgerResponse:
        self._daemon.note("GetLedger", request, context)
        reply = self._daemon.replies.get("GetLedger", gateway_pb2.GetLedgerResponse())
        assert isinstance(reply, gateway_pb2.GetLedgerResponse)
        return reply
