"""The two gRPC servers: the public socket, and the one where session processes dial home."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import grpc
import grpc.aio

from netclaw.core.errors import InternalError, InvalidArgumentError
from netclaw.supervisor.admin_api import Admin
from netclaw.supervisor.callers import TokenBook
from netclaw.supervisor.gateway_api import Gateway
from netclaw.supervisor.rpc import Context, by_token, service_handler
from netclaw.supervisor.session_host import SessionHost, by_hello
from netclaw.wire.chunks import CHANNEL_OPTIONS
from netclaw.wire.v1 import admin_pb2, gateway_pb2, session_host_pb2

SOCKET_PATH_LIMIT = 107
"""Bytes of a Unix socket's path on Linux."""
SERVER_OPTIONS = (
    *CHANNEL_OPTIONS,
    ("grpc.so_reuseport", 0),
    # Session processes and clients may come in large numbers and stay.
    ("grpc.max_concurrent_streams", 10_000),
)
OPEN_SERVICES = ("", "netclaw.v1.Gateway")
"""What the health service answers for."""


class Servers:
    """Both servers of one daemon."""

    def __init__(self, public_socket: Path, host_socket: Path) -> None:
        self._public_socket = public_socket
        self._host_socket = host_socket
        self._public: grpc.aio.Server | None = None
        self._health: Health | None = None
        self._host: grpc.aio.Server | None = None

    async def serve_host(self, host: SessionHost) -> None:
        """Open the internal socket."""
        server = grpc.aio.server(options=SERVER_OPTIONS)
        service = session_host_pb2.DESCRIPTOR.services_by_name["SessionHost"]
        server.add_generic_rpc_handlers((service_handler(service, host, by_hello),))
        self._host = server
        await _listen(server, self._host_socket)

    async def serve_public(self, gateway: Gateway, admin: Admin, tokens: TokenBook) -> None:
        """Open the public socket: gateway, admin, health and reflection."""
        server = grpc.aio.server(options=SERVER_OPTIONS)
        gateway_service = gateway_pb2.DESCRIPTOR.services_by_name["Gateway"]
        admin_service = admin_pb2.DESCRIPTOR.services_by_name["Admin"]
        server.add_generic_rpc_handlers(
            (
                service_handler(gateway_service, gateway, by_token(tokens)),
                service_handler(admin_service, admin, by_token(tokens, is_operator_only=True)),
            )
        )
        self._health = await _add_health(server)
        _add_reflection(server, tokens, (gateway_service.full_name, admin_service.full_name))
        self._public = server
        await _listen(server, self._public_socket)

    async def say_draining(self) -> None:
        """Tell health probes that new traffic belongs elsewhere, or later."""
        if self._health is not None:
            await self._health.enter_graceful_shutdown()

    async def stop_public(self, grace_s: float) -> None:
        """Take no more calls; running ones get `grace_s` to end."""
        if self._public is not None:
            await self._public.stop(grace_s)
            self._public = None
            self._public_socket.unlink(missing_ok=True)

    async def stop_host(self) -> None:
        """Close the internal socket and every stream on it."""
        if self._host is not None:
            await self._host.stop(0)
            self._host = None
            self._host_socket.unlink(missing_ok=True)


async def _listen(server: grpc.aio.Server, path: Path) -> None:
    if len(str(path).encode()) > SOCKET_PATH_LIMIT:
        raise InvalidArgumentError(
            f"The path {path} is too long for a Unix socket ({SOCKET_PATH_LIMIT} bytes).",
            fix="Choose a home with a shorter path.",
        )
    try:
        server.add_insecure_port(f"unix:{path}")
        await server.start()
    except RuntimeError as error:
        raise InternalError(f"The socket {path} cannot be opened.") from error


class Health(Protocol):
    """The part of the stock health service that we use."""

    async def enter_graceful_shutdown(self) -> None:
        """Answer NOT_SERVING from now on."""


async def _add_health(server: grpc.aio.Server) -> Health:
    from grpc_health.v1 import health_pb2, health_pb2_grpc
    from grpc_health.v1.health import aio

    servicer = aio.HealthServicer()
    for name in OPEN_SERVICES:
        await servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    found: Health = servicer
    return found


def _add_reflection(server: grpc.aio.Server, tokens: TokenBook, names: tuple[str, ...]) -> None:
    from grpc_health.v1 import health_pb2
    from grpc_reflection.v1alpha import reflection_pb2

    service = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"]
    known = (*names, health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, service.full_name)
    server.add_generic_rpc_handlers(
        (service_handler(service, _Reflection(known), by_token(tokens)),)
    )


class _Reflection:
    """Server reflection behind the same tokens as everything else."""

    def __init__(self, names: tuple[str, ...]) -> None:
        from grpc_reflection.v1alpha.reflection import aio

        self._answers = aio.ReflectionServicer(names)

    async def server_reflection_info(self, stream: Any, _caller: object) -> None:
        """Answer one question after another."""

        async def questions() -> Any:
            while (question := await stream.read()) is not None:
                yield question

        context: Context | None = None
        async for answer in self._answers.ServerReflectionInfo(questions(), context):
            await stream.write(answer)
