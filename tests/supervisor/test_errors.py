"""Errors cross gRPC and back."""

from __future__ import annotations

from urllib.parse import quote

import grpc
import grpc.aio
import pytest

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
    StorageFullError,
    TooLargeError,
)
from netclaw.wire.errors import STATUS_OF, error_of, from_rpc_error, to_failure


def crossing(error: NetclawError) -> NetclawError:
    """The error as the client's library shows it."""
    failure = to_failure(error)
    trailing = grpc.aio.Metadata(*failure.trailing_metadata)
    return from_rpc_error(
        grpc.aio.AioRpcError(failure.status, grpc.aio.Metadata(), trailing, failure.details)
    )


def bare(code: grpc.StatusCode, details: str = "") -> grpc.aio.AioRpcError:
    """A failure of gRPC itself, without our detail."""
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details)


@pytest.mark.requirement("supervisor.errors")
@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_code_arrives_with_its_sentence_way_out_and_reference(code: ErrorCode) -> None:
    sent = error_of(code.value, "It did not work: 100 % of grün.", fix="Do that.", reference="r7")
    seen = crossing(sent)
    assert type(seen) is type(sent)
    assert seen.code is code
    assert (seen.sentence, seen.fix, seen.reference) == (sent.sentence, sent.fix, sent.reference)


def test_every_code_has_a_status_and_a_class() -> None:
    assert set(STATUS_OF) == set(ErrorCode) == set(ERROR_CLASSES)


def test_what_a_code_adds_arrives_too() -> None:
    moved = crossing(HeadMovedError("moved", head=41))
    assert isinstance(moved, HeadMovedError)
    assert moved.head == 41
    limited = crossing(RateLimitedError("slow down", retry_after_s=2.5))
    assert isinstance(limited, RateLimitedError)
    assert limited.retry_after_s == 2.5


def test_an_unknown_code_is_internal() -> None:
    assert type(error_of("from-the-future", "x")) is InternalError


@pytest.mark.requirement("supervisor.resend-is-safe")
def test_a_send_without_a_definite_answer_is_unconfirmed_unless_it_never_left() -> None:
    lost = bare(grpc.StatusCode.UNAVAILABLE, "recvmsg: Connection reset by peer")
    assert isinstance(from_rpc_error(lost, is_send=True), DeliveryUnconfirmedError)
    assert isinstance(from_rpc_error(lost), DaemonDownError)
    late = bare(grpc.StatusCode.DEADLINE_EXCEEDED)
    assert isinstance(from_rpc_error(late, is_send=True), DeliveryUnconfirmedError)
    never = bare(grpc.StatusCode.UNAVAILABLE, "failed to connect to all addresses")
    assert isinstance(from_rpc_error(never, is_send=True), DaemonDownError)


def test_a_definite_refusal_of_a_send_is_itself() -> None:
    seen = to_failure(StorageFullError("full"))
    error = grpc.aio.AioRpcError(
        seen.status, grpc.aio.Metadata(), grpc.aio.Metadata(*seen.trailing_metadata), seen.details
    )
    assert isinstance(from_rpc_error(error, is_send=True), StorageFullError)


@pytest.mark.requirement("supervisor.message-size")
def test_an_answer_that_is_too_large_is_not_blamed_on_what_was_sent() -> None:
    failed = bare(grpc.StatusCode.RESOURCE_EXHAUSTED, "Received message larger than max (5 vs. 4)")
    answer = from_rpc_error(failed)
    assert isinstance(answer, TooLargeError)
    assert "Send less" not in answer.fix
    sent = from_rpc_error(failed, is_send=True)
    assert isinstance(sent, TooLargeError)
    assert "Send less" in sent.fix


def test_plain_statuses_and_broken_details_are_understood() -> None:
    assert isinstance(from_rpc_error(bare(grpc.StatusCode.NOT_FOUND)), NotFoundError)
    assert isinstance(from_rpc_error(bare(grpc.StatusCode.DATA_LOSS)), InternalError)
    garbled = grpc.aio.AioRpcError(
        grpc.StatusCode.NOT_FOUND,
        grpc.aio.Metadata(),
        grpc.aio.Metadata(("grpc-status-details-bin", b"\xff\xff")),
        "gone",
    )
    assert isinstance(from_rpc_error(garbled), NotFoundError)
    assert isinstance(from_rpc_error(grpc.RpcError()), InternalError)


@pytest.mark.requirement("supervisor.errors")
def test_an_error_that_quotes_something_long_still_fits_into_the_headers_of_an_answer() -> None:
    seen = to_failure(InvalidArgumentError(f"There is no {'🦊' * 5000}.", fix="é" * 5000))
    headers = len(quote(seen.details)) + len(seen.trailing_metadata[0][1]) * 4 // 3
    assert headers < 8000
    error = crossing(NotFoundError(f"There is no file {'/a' * 3000}."))
    assert isinstance(error, NotFoundError)
    assert error.sentence.startswith("There is no file /a/a")
    assert error.sentence.endswith(" [...]")
