"""Speaks with the running daemon: finds its socket, presents the operator's token, maps errors.

Short commands use gRPC's blocking interface: it starts faster than the asynchronous one.
"""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from netclaw.cli.holder import UnreachableDaemonError, absence, lock_owner
from netclaw.config.home import Home
from netclaw.core.errors import (
    DaemonDownError,
    InternalError,
    InvalidArgumentError,
    NetclawError,
    OperationTimeoutError,
    UnauthenticatedError,
)

if TYPE_CHECKING:
    import grpc

    from netclaw.wire.v1.admin_pb2_grpc import AdminStub
    from netclaw.wire.v1.gateway_pb2_grpc import GatewayStub

CALL_TIMEOUT_S = 30.0
PATIENCE_S = 5.0
"""How long a daemon that holds its home, but cannot be asked, is given: it may be restarting."""
PAUSE_S = 0.05
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
MAX_SOCKET_PATH_BYTES = 107
CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.default_authority", "localhost"),
    ("grpc.enable_http_proxy", 0),
)

Request = TypeVar("Request", contravariant=True)
Response = TypeVar("Response", covariant=True)
Metadata = tuple[tuple[str, str], ...]


class UnaryCall(Protocol[Request, Response]):
    """A unary method of a stub."""

    def __call__(
        self, request: Request, *, timeout: float | None, metadata: Metadata
    ) -> Response: ...


class StreamCall(Protocol[Request, Response]):
    """A server-streaming method of a stub."""

    def __call__(self, request: Request, *, metadata: Metadata) -> Iterator[Response]: ...


def is_listening(home: Home) -> bool:
    """Whether something accepts connections on the daemon's socket.

    Raises `InvalidArgumentError` when the path cannot be a socket's, `UnauthenticatedError` when
    this user may not use it.
    """
    path = str(home.socket)
    if len(path.encode()) > MAX_SOCKET_PATH_BYTES:
        raise InvalidArgumentError(
            f"The path of the home is too long for a socket: {path}.",
            fix="Point NETCLAW_HOME at a folder with a shorter path.",
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(5.0)
        try:
            probe.connect(path)
        except PermissionError:
            raise UnauthenticatedError(f"This user may not use the socket {path}.") from None
        except TimeoutError:
            return True  # a full backlog: something holds it
        except OSError as error:
            return error.errno in (errno.EAGAIN, errno.EINPROGRESS)
    return True


def read_token(home: Home) -> str:
    """The operator's token.

    Raises `UnreachableDaemonError` or `DaemonDownError` when there is none, and
    `UnauthenticatedError` when it cannot be read.
    """
    try:
        return home.operator_token.read_text("ascii").strip()
    except FileNotFoundError:
        raise absence(home) from None
    except (OSError, UnicodeDecodeError):
        raise UnauthenticatedError(
            f"The operator's token {home.operator_token} cannot be read."
        ) from None


def authorization(home: Home) -> Metadata:
    """The metadata that every call carries."""
    return (("authorization", f"Bearer {read_token(home)}"),)


def wait_for_way_in(home: Home, patience_s: float) -> Metadata:
    """Return what every call carries once a daemon listens and its token can be read.

    Raises `DaemonDownError` at once when no process holds the home, `UnreachableDaemonError` when
    one does and cannot be asked within the patience: then its socket or its token is lost.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            if is_listening(home):
                return authorization(home)
            raise absence(home)
        except UnreachableDaemonError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(PAUSE_S)


class DaemonClient:
    """An open connection to the daemon of a home; use it as a context manager."""

    def __init__(self, home: Home, *, patience_s: float | None = None) -> None:
        """Connect, waiting out a restart for `patience_s` (default: `PATIENCE_S`).

        Raises `DaemonDownError` when no daemon runs, `UnreachableDaemonError` when one does and
        cannot be asked.
        """
        self._home = home
        self._metadata = wait_for_way_in(home, PATIENCE_S if patience_s is None else patience_s)

        import grpc

        from netclaw.wire.v1.admin_pb2_grpc import AdminStub
        from netclaw.wire.v1.gateway_pb2_grpc import GatewayStub

        self._channel: grpc.Channel = grpc.insecure_channel(
            f"unix:{home.socket}", options=CHANNEL_OPTIONS
        )
        self.gateway: GatewayStub = GatewayStub(self._channel)
        self.admin: AdminStub = AdminStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._channel.close()

    def call(
        self,
        method: UnaryCall[Request, Response],
        request: Request,
        *,
        timeout_s: float | None = CALL_TIMEOUT_S,
        is_send: bool = False,
    ) -> Response:
        """Call a unary method.

        Raises the `NetclawError` that the daemon named. With `is_send` a call without a definite
        answer raises `DeliveryUnconfirmedError` (decision 33).
        """

        def ask() -> Response:
            return method(request, timeout=timeout_s, metadata=self._metadata)

        try:
            return _mapped(ask, is_send=is_send)
        except UnauthenticatedError:
            if not self._has_new_token():
                raise
        except DaemonDownError as error:
            raise self._explained(error) from None
        return _mapped(ask, is_send=is_send)  # it was refused unread, so nothing happens twice

    def _has_new_token(self) -> bool:
        """Take over the token of a daemon that started after this connection was prepared."""
        fresh = authorization(self._home)
        is_new = fresh != self._metadata
        self._metadata = fresh
        return is_new

    def _explained(self, error: DaemonDownError) -> DaemonDownError:
        """The loss of a connection to a daemon that still holds its home: it is restarting."""
        owner = lock_owner(self._home)
        if owner is None:
            return error
        return UnreachableDaemonError(
            f"The connection broke off: the daemon (process {owner}) is restarting.",
            fix="Look whether it was done, then run it again.",
        )

    def stream(
        self, method: StreamCall[Request, Response], request: Request
    ) -> ResponseStream[Response]:
        """Begin a server stream."""
        return ResponseStream(method(request, metadata=self._metadata))


class ResponseStream(Iterator[Response]):
    """The responses of a stream; ending early cancels the call."""

    def __init__(self, call: Iterator[Response]) -> None:
        self._call = call

    def __next__(self) -> Response:
        return _mapped(lambda: next(self._call), is_send=False)

    def cancel(self) -> None:
        """Tell the daemon that nobody reads any more."""
        cancel: Callable[[], object] | None = getattr(self._call, "cancel", None)
        if cancel is not None:
            cancel()


Result = TypeVar("Result")


def _mapped(work: Callable[[], Result], *, is_send: bool) -> Result:
    import grpc

    try:
        return work()
    except grpc.RpcError as error:
        raise map_error(error, is_send=is_send) from None


def map_error(error: grpc.RpcError, *, is_send: bool = False) -> NetclawError:
    """The error of a failed call, as the protocol page names it."""
    import grpc

    from netclaw.wire.errors import from_rpc_error

    found = from_rpc_error(error, is_send=is_send)
    code = getattr(error, "code", lambda: None)()
    if isinstance(found, InternalError) and code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return OperationTimeoutError(
            "The daemon holds the connection but does not answer.",
            fix="Wait, if it is merely busy; otherwise run `netclaw daemon restart`.",
        )
    return found
