"""Asks a model something beside the turns: one short call with a limit, without tools.

Every sidecar call (compaction notes, titles, a memory's own questions) goes this way, so that all
of them end by themselves, fail over alike and are proof against a model that accepts a call and
then says nothing (S0 Session.SidecarLlmTimeoutSeconds).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from netclaw.core.errors import ErrorCategory
from netclaw.core.messages import Usage
from netclaw.core.session.commands import FinishReason
from netclaw.ports.model import (
    CallDelta,
    Finished,
    ModelCallError,
    ModelClient,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
)

_log = logging.getLogger(__name__)

NO_MODEL = "No usable model is configured."
WITHHELD = "The model's service held the answer back."


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarAnswer:
    """What a model wrote; `usage` is zero where the rest of it was not waited for."""

    text: str
    usage: Usage = field(default_factory=Usage)
    model: str = ""


class SidecarModels:
    """The models for sidecar calls, in the order in which they are asked."""

    def __init__(self, *, clients: Callable[[], Sequence[ModelClient]], timeout_s: float) -> None:
        self._clients = clients
        self._timeout_s = timeout_s

    async def ask(self, request: ModelRequest, *, enough_chars: int | None = None) -> SidecarAnswer:
        """The answer of the first model that gives one, within `timeout_s` for all of them.

        A model that another one could stand in for is given up once it was silent for its share
        of the time: a connection that is half open must not cost the other one its turn. From
        `enough_chars` on the rest of an answer is not waited for. Raises `ModelCallError`.
        """
        clients = self._clients()
        failure = ModelCallError(ErrorCategory.PROVIDER_FAILURE, NO_MODEL)
        try:
            async with asyncio.timeout(self._timeout_s):
                for position, client in enumerate(clients, start=1):
                    patience_s = self._timeout_s / len(clients) if position < len(clients) else None
                    try:
                        return await _ask(client, request, patience_s, enough_chars)
                    except ModelCallError as error:
                        failure = error
                        _log.warning("a sidecar call failed: %s (%s)", error.sentence, error.detail)
        except TimeoutError:
            failure = ModelCallError(
                ErrorCategory.TIMEOUT,
                f"The model was not done after {self._timeout_s:g} s"
                " (Session.SidecarLlmTimeoutSeconds).",
            )
        raise failure


async def _ask(
    client: ModelClient, request: ModelRequest, patience_s: float | None, enough_chars: int | None
) -> SidecarAnswer:
    loop = asyncio.get_running_loop()
    silence = asyncio.timeout(patience_s)
    answer = SidecarAnswer(text="")
    seen = ""
    try:
        async with silence, aclosing(client.stream(request)) as items:
            async for item in items:
                if isinstance(item, Finished):
                    answer = _finished(item)
                elif isinstance(item, TextDelta | ThinkingDelta | CallDelta):
                    if patience_s is not None:
                        silence.reschedule(loop.time() + patience_s)
                    seen += item.text if isinstance(item, TextDelta) else ""
                    if enough_chars is not None and len(seen) >= enough_chars:
                        return SidecarAnswer(text=seen)
    except TimeoutError:
        raise ModelCallError(
            ErrorCategory.TIMEOUT, f"The model sent nothing for {patience_s:g} s."
        ) from None
    return answer


def _finished(item: Finished) -> SidecarAnswer:
    if item.finish is FinishReason.CONTENT_FILTER:
        raise ModelCallError(ErrorCategory.MODEL_BEHAVIOR, WITHHELD)
    return SidecarAnswer(text=item.text, usage=item.usage, model=item.model)
