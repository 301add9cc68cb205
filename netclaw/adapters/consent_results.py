"""Learns from a session how one of its consent requests ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator

from netclaw.adapters.parts import Link
from netclaw.core.errors import (
    DaemonDownError,
    NetclawError,
    NotFoundError,
    UnauthenticatedError,
)
from netclaw.wire.v1.common_pb2 import Output, OutputBatch
from netclaw.wire.v1.gateway_pb2 import AttachRequest, GetSessionRequest, PendingApproval

_log = logging.getLogger(__name__)

AGAIN_S = 1.0


async def result_of(link: Link, approval: PendingApproval) -> str:
    """The outcome of the session's ConsentUpdate, once there is one; empty if the session is gone.

    It may take long: a session that is held or drains takes no answer up.
    """
    while True:
        try:
            end = await _watch(link, approval)
            if end is not None:
                return end
            # The stream ended by itself: the session was deleted, or the daemon is about to end.
            await link.get_session(GetSessionRequest(session_id=approval.session_id))
        except NotFoundError:
            return ""
        except (DaemonDownError, UnauthenticatedError):
            raise
        except NetclawError as error:
            _log.warning("a session cannot be watched: %s", error.sentence)
        await asyncio.sleep(AGAIN_S)


async def _watch(link: Link, approval: PendingApproval) -> str | None:
    request = AttachRequest(session_id=approval.session_id, filter=0, after_seq=approval.seq)
    stream = link.attach(request)
    try:
        async for batch in stream:
            for output in batch.outputs:
                if _is_end_of(output, approval):
                    return output.outcome
    finally:
        await close_stream(stream)
    return None


def _is_end_of(output: Output, approval: PendingApproval) -> bool:
    return (
        output.type == "consent_update"
        and output.call_id == approval.call_id
        and output.run_id == approval.run_id
    )


async def close_stream(stream: AsyncIterator[OutputBatch]) -> None:
    """End a call now, not when its iterator is collected."""
    if isinstance(stream, AsyncGenerator):
        await stream.aclose()
