"""Speaks with the running daemon: finds its socket, presents the operator's token, maps errors.

Short commands use gRPC's blocking interface: it starts faster than the asynchronous one.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from netclaw.config.home import Home
from netclaw.core.errors import (
    DaemonDownError,
    InvalidArgumentError,
    NetclawError,
    UnauthenticatedError,
)

if TYPE_CHECKING:
    import grpc

    from netclaw.wire.v1.admin_pb2_grpc import AdminStub
    from netclaw.wire.v1.gateway_pb2_grpc import GatewayStub

CALL_TIMEOUT_S = 30.0
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
    """The operator's token. Raises `DaemonDownError` or `UnauthenticatedError`."""
    try:
        return home.operator_token.read_text("ascii").strip()
    except FileNotFoundError:
        raise DaemonDownError("No daemon runs for this home.") from None
    except (OSError, UnicodeDecodeError):
        raise UnauthenticatedError(
            f"The operator's token {home.operator_token} cannot be read."
        ) from None


def authorization(home: Home) -> Metadata:
    """The metadata that every call carries."""
    return (("authorization", f"Bearer {read_token(home)}"),)


class DaemonClient:
    """An open connection to the daemon of a home; use it as a context manager."""

    def __init__(self, home: Home) -> None:
        """Raises `DaemonDownError` when no daemon listens."""
        if not is_listening(home):
            raise DaemonDownError("No daemon runs for this home.")
        self._metadata = authorization(home)

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
        return _mapped(
            lambda: method(request, timeout=timeout_s, metadata=self._metadata), is_send=is_send
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
    from netclaw.wire.errors import from_rpc_error

    return from_rpc_error(error, is_send=is_send)
