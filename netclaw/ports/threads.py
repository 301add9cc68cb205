"""How far the thread of a channel was read that a session belongs to."""

from __future__ import annotations

from typing import Protocol

from netclaw.core.ids import SessionId


class ThreadStore(Protocol):
    """The part of the journal store about threads of channels.

    A cursor is a text of the channel's adapter. It is written with an admission
    (`AdmitRequest.thread_cursor`), in one transaction: an input that is known was also read.
    """

    async def thread_cursor(self, session_id: SessionId) -> str:
        """The cursor of a session's newest admission that brought one; empty if there is none."""
