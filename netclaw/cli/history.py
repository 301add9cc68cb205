"""Reads a whole conversation, however many answers of the daemon it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netclaw.cli.client import DaemonClient

if TYPE_CHECKING:
    from netclaw.wire.v1.gateway_pb2 import HistoryItem


def read_history(client: DaemonClient, session_id: str, *, limit: int = 0) -> list[HistoryItem]:
    """The newest `limit` items of a session (0: all), oldest first.

    Raises what the daemon says, `InvalidArgumentError` if the history was compacted or reset
    between two pages.
    """
    from netclaw.wire.batches import joined_items
    from netclaw.wire.v1.gateway_pb2 import GetHistoryRequest

    request = GetHistoryRequest(session_id=session_id, limit=limit)
    pages: list[list[HistoryItem]] = []
    while True:
        page = client.call(client.gateway.GetHistory, request)
        pages.append(list(page.items))
        if not page.before:
            break
        request.before = page.before
    return list(joined_items(item for items in reversed(pages) for item in items))
