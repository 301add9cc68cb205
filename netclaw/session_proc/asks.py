"""Asks the supervisor questions over the stream and hands each answer to who asked."""

from __future__ import annotations

import asyncio

from netclaw.core.errors import OperationTimeoutError
from netclaw.session_proc.frames import FrameSink
from netclaw.wire.errors import error_of
from netclaw.wire.v1.session_host_pb2 import Answer, Ask, ToHost

ANSWER_S = 15.0
"""How long an answer may take; the supervisor answers from memory or one small file."""


class Asks:
    """All questions of this process; they may be open at the same time."""

    def __init__(self, sink: FrameSink) -> None:
        self._sink = sink
        self._open: dict[int, asyncio.Future[bytes]] = {}
        self._last = 0

    async def ask(
        self, kind: str, payload: bytes = b"", *, limit_s: float | None = ANSWER_S
    ) -> bytes:
        """The answer to one question; without a limit it may take as long as it takes.

        Raises the `NetclawError` that the supervisor answered with, and `OperationTimeoutError`
        if it gives none in time.
        """
        self._last += 1
        number = self._last
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._open[number] = answer
        self._sink.send(ToHost(ask=Ask(number=number, kind=kind, payload=payload)))
        try:
            async with asyncio.timeout(limit_s):
                return await answer
        except TimeoutError:
            raise OperationTimeoutError(
                f"The daemon gave no answer within {limit_s:g} seconds."
            ) from None
        finally:
            self._open.pop(number, None)

    def answered(self, frame: Answer) -> None:
        """Hand on an answer; one that nobody waits for any more is dropped."""
        waiting = self._open.get(frame.number)
        if waiting is None or waiting.done():
            return
        if frame.error_code:
            waiting.set_exception(error_of(frame.error_code, frame.sentence))
        else:
            waiting.set_result(frame.payload)
