"""Reads the stable code out of a gRPC error."""

from __future__ import annotations

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status


def code_of(fault: grpc.aio.AioRpcError) -> str:
    """The stable code of an error, from its ErrorInfo."""
    status = rpc_status.from_call(fault)
    assert status is not None, fault
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.metadata["fix"]
    return str(info.reason)
