"""Makes the notes of a compaction: one best-effort call, Compaction model first, then Fallback.

It ends by itself after the sidecar timeout, whatever the models do, so that a compaction never
holds back what waits behind it (S0 Compaction, Session.SidecarLlmTimeoutSeconds).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing

from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import DispatchToken
from netclaw.core.session.commands import FailNotes, FinishNotes, FinishReason, SessionCommand
from netclaw.core.session.effects import CallNotes
from netclaw.ports.model import Finished, ModelCallError, ModelClient, ModelRequest
from netclaw.session_proc.ending import Ending

_log = logging.getLogger(__name__)

NO_MODEL = "No usable model is configured."
WITHHELD = "The model's service held the notes back."


class NotesDriver:
    """The notes call of this process; there is one at a time."""

    def __init__(
        self,
        *,
        clients: Callable[[], Sequence[ModelClient]],
        timeout_s: float,
        ending: Ending,
        post: Callable[[SessionCommand], None],
    ) -> None:
        self._clients = clients
        self._timeout_s = timeout_s
        self._ending = ending
        self._post = post
        self._tasks: dict[DispatchToken, asyncio.Task[None]] = {}

    def start(self, effect: CallNotes) -> None:
        """Begin the call; its end is one FinishNotes or FailNotes."""
        if not effect.messages:
            self._post(FinishNotes(token=effect.token, text=""))
            return
        request = ModelRequest(messages=effect.messages, system_prompt=effect.system_prompt)
        self._tasks[effect.token] = self._ending.watch(
            asyncio.create_task(self._run(effect.token, request), name=f"notes {effect.token}")
        )

    def cancel(self, token: DispatchToken) -> None:
        """Drop the call; nothing of it is reported."""
        task = self._tasks.pop(token, None)
        if task is not None:
            task.cancel()

    async def _run(self, token: DispatchToken, request: ModelRequest) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                text = await self._ask_models(request)
        except TimeoutError:
            self._fail(token, f"The notes were not ready after {self._timeout_s:g} s.")
        except ModelCallError as error:
            self._fail(token, error.sentence)
        else:
            self._tasks.pop(token, None)
            self._post(FinishNotes(token=token, text=text))

    def _fail(self, token: DispatchToken, sentence: str) -> None:
        self._tasks.pop(token, None)
        self._post(FailNotes(token=token, sentence=sentence))

    async def _ask_models(self, request: ModelRequest) -> str:
        """The notes of the first model that writes any."""
        failure = ModelCallError(ErrorCategory.PROVIDER_FAILURE, NO_MODEL)
        for client in self._clients():
            try:
                text = await _ask(client, request)
            except ModelCallError as error:
                failure = error
                _log.warning("a model made no notes: %s (%s)", error.sentence, error.detail)
            else:
                return text
        raise failure


async def _ask(client: ModelClient, request: ModelRequest) -> str:
    text = ""
    async with aclosing(client.stream(request)) as items:
        async for item in items:
            if isinstance(item, Finished):
                if item.finish is FinishReason.CONTENT_FILTER:
                    raise ModelCallError(ErrorCategory.MODEL_BEHAVIOR, WITHHELD)
                text = item.text
    return text
