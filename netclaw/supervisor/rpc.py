"""Binds the protocol's services to plain coroutines: tokens, parsing, errors in one place.

A service is an object with one coroutine per method of the .proto, in snake case:

    unary                 async def ensure_session(request, caller) -> reply
    client stream         async def upload(stream, caller) -> reply
    server stream         async def attach(request, caller, stream) -> None
    both                  async def ingest(stream, caller) -> None

It raises `NetclawError`s; here they become statuses with their ErrorInfo. Anything else is a
fault of ours: logged under a reference id, told as `internal` without its text.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import grpc
import grpc.aio
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message

from netclaw.core.errors import (
    DeniedByPolicyError,
    InternalError,
    InvalidArgumentError,
    NetclawError,
)
from netclaw.supervisor.callers import Caller, TokenBook
from netclaw.supervisor.ids import new_reference
from netclaw.wire.errors import to_failure

_log = logging.getLogger(__name__)

Context = grpc.aio.ServicerContext[Any, Any]
Authenticate = Callable[[Context], Caller]

_WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class RpcStream:
    """One call's stream of messages, in either direction or both."""

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    async def open(self) -> None:
        """Tell the client that the call stands, before its first message."""
        await self._context.send_initial_metadata(())

    async def read(self) -> Any:
        """The next message, or None once the client has sent all.

        Raises `InvalidArgumentError` for one that cannot be parsed.
        """
        message = await self._context.read()
        if message is grpc.aio.EOF:
            return None
        return _checked(message)

    async def write(self, message: Message | bytes) -> None:
        """Send a message, or one that is serialized already; one writer at a time."""
        await self._context.write(message)


class _Malformed:
    """Stands for a message that is not what the method takes."""


_MALFORMED = _Malformed()


def _checked(message: Any) -> Any:
    if message is _MALFORMED:
        raise InvalidArgumentError(
            "The message is malformed: it is not of this protocol, or a text is not valid UTF-8.",
            fix="Send texts as UTF-8 and use the published .proto files.",
        )
    return message


def service_handler(
    service: ServiceDescriptor, implementation: object, authenticate: Authenticate
) -> grpc.GenericRpcHandler:
    """Bind every method of a service; raises `AttributeError` if one has no coroutine."""
    handlers = {
        method.name: _method_handler(method, implementation, authenticate)
        for method in service.methods
    }
    return grpc.method_handlers_generic_handler(service.full_name, handlers)


def by_token(tokens: TokenBook, *, is_operator_only: bool = False) -> Authenticate:
    """Admit callers with a valid token, or with the operator's alone."""

    def authenticate(context: Context) -> Caller:
        caller = tokens.authenticate(context.invocation_metadata())
        if is_operator_only and not caller.is_operator:
            raise DeniedByPolicyError("Only the operator may do this.")
        return caller

    return authenticate


def _method_handler(
    method: MethodDescriptor, implementation: object, authenticate: Authenticate
) -> grpc.RpcMethodHandler[Any, Any]:
    work = getattr(implementation, _WORD_BORDER.sub("_", method.name).lower())
    parse = _parser(message_factory.GetMessageClass(method.input_type))
    if method.client_streaming and method.server_streaming:
        return grpc.stream_stream_rpc_method_handler(
            _guard_both(work, authenticate), parse, _serialize
        )
    if method.client_streaming:
        return grpc.stream_unary_rpc_method_handler(
            _guard_client_stream(work, authenticate), parse, _serialize
        )
    if method.server_streaming:
        return grpc.unary_stream_rpc_method_handler(
            _guard_server_stream(work, authenticate), parse, _serialize
        )
    return grpc.unary_unary_rpc_method_handler(_guard_unary(work, authenticate), parse, _serialize)


def _parser(kind: type[Message]) -> Callable[[bytes], Message | _Malformed]:
    from_string = kind.FromString

    def parse(serialized: bytes) -> Message | _Malformed:
        try:
            return from_string(serialized)
        except DecodeError:
            return _MALFORMED

    return parse


def _serialize(message: Message | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()


def _guard_unary(
    work: Callable[[Any, Caller], Awaitable[Message]], authenticate: Authenticate
) -> Callable[[Any, Context], Awaitable[Message]]:
    async def handle(request: Any, context: Context) -> Message:
        try:
            caller = authenticate(context)
            return await work(_checked(request), caller)
        except NetclawError as error:
            failure = error
        except Exception as fault:  # noqa: BLE001 - the one place where faults become statuses
            failure = _internal(work, fault)
        return await _abort(context, failure)

    return handle


def _guard_client_stream(
    work: Callable[[RpcStream, Caller], Awaitable[Message]], authenticate: Authenticate
) -> Callable[[Any, Context], Awaitable[Message]]:
    async def handle(_requests: Any, context: Context) -> Message:
        try:
            return await work(RpcStream(context), authenticate(context))
        except NetclawError as error:
            failure = error
        except Exception as fault:  # noqa: BLE001 - see above
            failure = _internal(work, fault)
        return await _abort(context, failure)

    return handle


def _guard_server_stream(
    work: Callable[[Any, Caller, RpcStream], Awaitable[None]], authenticate: Authenticate
) -> Callable[[Any, Context], Awaitable[None]]:
    async def handle(request: Any, context: Context) -> None:
        try:
            caller = authenticate(context)
            await work(_checked(request), caller, RpcStream(context))
        except NetclawError as error:
            failure = error
        except Exception as fault:  # noqa: BLE001 - see above
            failure = _internal(work, fault)
        else:
            return
        await _abort(context, failure)

    return handle


def _guard_both(
    work: Callable[[RpcStream, Caller], Awaitable[None]], authenticate: Authenticate
) -> Callable[[Any, Context], Awaitable[None]]:
    async def handle(_requests: Any, context: Context) -> None:
        try:
            await work(RpcStream(context), authenticate(context))
        except NetclawError as error:
            failure = error
        except Exception as fault:  # noqa: BLE001 - see above
            failure = _internal(work, fault)
        else:
            return
        await _abort(context, failure)

    return handle


def _internal(work: Callable[..., object], fault: Exception) -> NetclawError:
    if isinstance(fault, asyncio.InvalidStateError | grpc.aio.UsageError):
        # The client went away while we were writing to it.
        return InternalError("The call was broken off by the client.")
    reference = new_reference()
    _log.error(
        "call %s failed, reference %s", getattr(work, "__name__", "?"), reference, exc_info=fault
    )
    return InternalError("The daemon failed to carry this out.", reference=reference)


async def _abort(context: Context, error: NetclawError) -> NoReturn:
    failure = to_failure(error)
    await context.abort(failure.status, failure.details, failure.trailing_metadata)
