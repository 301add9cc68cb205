"""Carries errors over gRPC and back: stable code, status, sentence, way out and reference.

A status alone is too coarse to branch on, so every failure has a google.rpc.ErrorInfo detail:
`reason` is the stable code, `domain` is `netclaw`, and the metadata holds `fix`, `reference` and
what some codes add (`head`, `retry_after_s`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import grpc

from netclaw.core.errors import (
    ERROR_CLASSES,
    DaemonDownError,
    DeliveryUnconfirmedError,
    ErrorCode,
    HeadMovedError,
    InternalError,
    InvalidArgumentError,
    NetclawError,
    NotFoundError,
    RateLimitedError,
    TooLargeError,
    UnauthenticatedError,
)

ERROR_DOMAIN = "netclaw"
DETAILS_KEY = "grpc-status-details-bin"
NEVER_CONNECTED = ("failed to connect", "connection refused", "no such file")
"""What gRPC says when a call cannot have left this machine, in lower case."""
SENTENCE_BYTES = 1500
FIX_BYTES = 500
"""An error travels as headers, twice, the readable one with up to three bytes for each; a client
takes 8 KiB of them, and drops the whole error beyond that."""

STATUS_OF: dict[ErrorCode, grpc.StatusCode] = {
    ErrorCode.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.INVALID_ARGUMENT: grpc.StatusCode.INVALID_ARGUMENT,
    ErrorCode.TOO_LARGE: grpc.StatusCode.INVALID_ARGUMENT,
    ErrorCode.QUEUE_FULL: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ErrorCode.DENIED_BY_POLICY: grpc.StatusCode.PERMISSION_DENIED,
    ErrorCode.NOT_REQUESTER: grpc.StatusCode.PERMISSION_DENIED,
    ErrorCode.UNAUTHENTICATED: grpc.StatusCode.UNAUTHENTICATED,
    ErrorCode.STALE_INCARNATION: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.HEAD_MOVED: grpc.StatusCode.ABORTED,
    ErrorCode.QUARANTINED: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.DRAINING: grpc.StatusCode.UNAVAILABLE,
    ErrorCode.DAEMON_DOWN: grpc.StatusCode.UNAVAILABLE,
    ErrorCode.ALREADY_RUNNING: grpc.StatusCode.ALREADY_EXISTS,
    ErrorCode.STORAGE_FULL: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ErrorCode.STORAGE_READ_ONLY: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.STORAGE_CORRUPT: grpc.StatusCode.DATA_LOSS,
    ErrorCode.SCHEMA_NEWER: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.STORAGE_TIMEOUT: grpc.StatusCode.DEADLINE_EXCEEDED,
    ErrorCode.SESSION_UNREADABLE: grpc.StatusCode.DATA_LOSS,
    ErrorCode.APPROVAL_STORE_UNAVAILABLE: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.NO_SANDBOX: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.NO_MODEL: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.PROVIDER_FAILURE: grpc.StatusCode.UNAVAILABLE,
    ErrorCode.RATE_LIMITED: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ErrorCode.TIMEOUT: grpc.StatusCode.DEADLINE_EXCEEDED,
    ErrorCode.MODEL_BEHAVIOR: grpc.StatusCode.INTERNAL,
    ErrorCode.INPUT_INCOMPATIBLE: grpc.StatusCode.INVALID_ARGUMENT,
    ErrorCode.INTERRUPTED: grpc.StatusCode.CANCELLED,
    ErrorCode.DELIVERY_UNCONFIRMED: grpc.StatusCode.UNKNOWN,
    ErrorCode.INTERNAL: grpc.StatusCode.INTERNAL,
}
"""The gRPC status of every stable code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcFailure:
    """How an error leaves a gRPC server: what `context.abort` takes."""

    status: grpc.StatusCode
    details: str
    trailing_metadata: tuple[tuple[str, bytes], ...]


def to_failure(error: NetclawError) -> RpcFailure:
    """Dress an error for the wire."""
    # Loaded on the first failure only: an idle daemon does not need these.
    from google.rpc.error_details_pb2 import ErrorInfo
    from google.rpc.status_pb2 import Status

    sentence = _cut(error.sentence, SENTENCE_BYTES)
    metadata = {"fix": _cut(error.fix, FIX_BYTES), "reference": error.reference}
    if isinstance(error, HeadMovedError):
        metadata["head"] = str(error.head)
    if isinstance(error, RateLimitedError):
        metadata["retry_after_s"] = repr(error.retry_after_s)
    code = STATUS_OF[error.code]
    # `StatusCode.value` is (number, name).
    status = Status(code=int(code.value[0]), message=sentence)
    status.details.add().Pack(
        ErrorInfo(reason=error.code.value, domain=ERROR_DOMAIN, metadata=metadata)
    )
    return RpcFailure(
        status=code,
        details=sentence,
        trailing_metadata=((DETAILS_KEY, status.SerializeToString()),),
    )


def _cut(text: str, size: int) -> str:
    """The text, or its beginning: what it quotes may be of any length."""
    data = text.encode("utf-8", "replace")
    if len(data) <= size:
        return text
    return f"{data[:size].decode('utf-8', 'ignore')} [...]"


def error_of(
    code: str, sentence: str, *, fix: str | None = None, reference: str = ""
) -> NetclawError:
    """Make the error that carries a code; an unknown code becomes an InternalError."""
    try:
        kind = ERROR_CLASSES[ErrorCode(code)]
    except (ValueError, KeyError):
        kind = InternalError
    # Some classes ask for more than a sentence, so way out and reference are put in afterwards.
    error = HeadMovedError(sentence, head=0) if kind is HeadMovedError else kind(sentence)
    if fix is not None:
        error.fix = fix
    error.reference = reference
    return error


def from_rpc_error(error: grpc.RpcError, *, is_send: bool = False) -> NetclawError:
    """Undress a failed call on the client's side.

    A call that failed without a definite code raises the question whether it was carried out:
    with `is_send` such a call is `delivery_unconfirmed` unless it cannot have left (decision 33).
    """
    if not hasattr(error, "trailing_metadata"):
        return InternalError(f"The call failed: {type(error).__name__}.")
    # Every error of a call is a Call too; the stubs forbid saying so.
    call = cast("grpc.Call", error)
    info = _error_info(call.trailing_metadata() or ())
    details = call.details() or ""
    if info is None:
        return _without_detail(call.code(), details, is_send=is_send)
    reason, metadata = info
    error_seen = error_of(
        reason, details, fix=metadata.get("fix"), reference=metadata.get("reference", "")
    )
    if isinstance(error_seen, HeadMovedError):
        error_seen.head = int(metadata.get("head", "0"))
    if isinstance(error_seen, RateLimitedError):
        error_seen.retry_after_s = float(metadata.get("retry_after_s", "0"))
    return error_seen


def _error_info(
    trailing: Iterable[tuple[str, str | bytes]],
) -> tuple[str, dict[str, str]] | None:
    from google.protobuf.message import DecodeError
    from google.rpc.error_details_pb2 import ErrorInfo
    from google.rpc.status_pb2 import Status

    for key, value in trailing:
        if key != DETAILS_KEY or not isinstance(value, bytes):
            continue
        try:
            status = Status.FromString(value)
        except DecodeError:
            return None
        for detail in status.details:
            info = ErrorInfo()
            if detail.Unpack(info) and info.domain == ERROR_DOMAIN:
                return info.reason, dict(info.metadata)
    return None


_PLAIN: dict[grpc.StatusCode, type[NetclawError]] = {
    grpc.StatusCode.UNAUTHENTICATED: UnauthenticatedError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgumentError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: TooLargeError,
    grpc.StatusCode.UNIMPLEMENTED: InvalidArgumentError,
}
"""What gRPC itself refuses before a handler of ours ran."""


def _without_detail(code: grpc.StatusCode | None, details: str, *, is_send: bool) -> NetclawError:
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and not is_send:
        # Nobody sent a text here: it is the answer that does not fit.
        return TooLargeError(
            f"The daemon's answer could not be read: {details or code.name}.",
            fix="Run `netclaw daemon restart`: the daemon is of another version than this program.",
        )
    if code in _PLAIN:
        return _PLAIN[code](f"The daemon refused the call: {details or code.name}.")
    has_never_left = any(phrase in details.lower() for phrase in NEVER_CONNECTED)
    if is_send and not has_never_left:
        return DeliveryUnconfirmedError(
            "The daemon did not confirm the message; it may or may not have been admitted."
        )
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
        return DaemonDownError("No daemon answers for this home.")
    return InternalError("The call to the daemon failed without a reason.")
