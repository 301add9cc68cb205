"""Runs what a session does beside its turns: compaction notes, titles, what memory is given.

Each is one task under the token of its effect. Its end is one command; one that was cancelled
reports nothing, and the rules drop by the token what comes late.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine

from netclaw.core.ids import DispatchToken
from netclaw.core.session.commands import (
    FailNotes,
    FailTitle,
    FinishDistillation,
    FinishNotes,
    FinishTitle,
    SessionCommand,
)
from netclaw.core.session.effects import (
    CallNotes,
    CallTitle,
    CancelSidecar,
    DistilMemory,
    QueueCheckpoint,
)
from netclaw.ports.memory import (
    Distillation,
    MemoryCheckpoint,
    MemoryPort,
    MemoryUnavailableError,
)
from netclaw.ports.model import ModelCallError, ModelRequest
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.sidecar_models import SidecarModels

_log = logging.getLogger(__name__)

TITLE_OUTPUT_TOKENS = 2_000
"""Room for a model that thinks first; a title itself takes a dozen."""
TITLE_ENOUGH_CHARS = 400
"""From here on a model does not write a title any more."""

SidecarEffect = CallNotes | CallTitle | DistilMemory | QueueCheckpoint | CancelSidecar


class Sidecars:
    """The sidecar calls of this process."""

    def __init__(
        self,
        *,
        models: SidecarModels,
        memory: MemoryPort,
        ending: Ending,
        post: Callable[[SessionCommand], None],
    ) -> None:
        self._models = models
        self._memory = memory
        self._ending = ending
        self._post = post
        self._tasks: dict[DispatchToken, asyncio.Task[None]] = {}

    def perform(self, effect: SidecarEffect) -> None:
        """Begin or cancel one."""
        match effect:
            case CallNotes():
                self._begin(effect.token, "notes", self._notes(effect))
            case CallTitle():
                self._begin(effect.token, "title", self._title(effect))
            case DistilMemory():
                self._begin(effect.token, "distillation", self._distil(effect))
            case QueueCheckpoint():
                token = DispatchToken(effect.checkpoint_id)
                self._begin(token, "checkpoint", self._queue(effect))
            case CancelSidecar():
                task = self._tasks.pop(effect.token, None)
                if task is not None:
                    task.cancel()

    def _begin(self, token: DispatchToken, what: str, work: Coroutine[None, None, None]) -> None:
        task = self._ending.watch(asyncio.create_task(work, name=f"{what} {token}"))
        self._tasks[token] = task
        task.add_done_callback(lambda done: self._forget(token, done))

    def _forget(self, token: DispatchToken, task: asyncio.Task[None]) -> None:
        if self._tasks.get(token) is task:
            del self._tasks[token]

    async def _notes(self, effect: CallNotes) -> None:
        if not effect.messages:
            self._post(FinishNotes(token=effect.token, text=""))
            return
        request = ModelRequest(messages=effect.messages, system_prompt=effect.system_prompt)
        try:
            answer = await self._models.ask(request)
        except ModelCallError as error:
            self._post(FailNotes(token=effect.token, sentence=error.sentence))
        else:
            self._post(
                FinishNotes(
                    token=effect.token, text=answer.text, usage=answer.usage, model=answer.model
                )
            )

    async def _title(self, effect: CallTitle) -> None:
        request = ModelRequest(
            messages=effect.messages,
            system_prompt=effect.system_prompt,
            max_output_tokens=TITLE_OUTPUT_TOKENS,
        )
        try:
            answer = await self._models.ask(request, enough_chars=TITLE_ENOUGH_CHARS)
        except ModelCallError as error:
            self._post(FailTitle(token=effect.token, sentence=error.sentence))
        else:
            self._post(
                FinishTitle(
                    token=effect.token, text=answer.text, usage=answer.usage, model=answer.model
                )
            )

    async def _distil(self, effect: DistilMemory) -> None:
        conversation = Distillation(
            session_id=effect.session_id,
            life=effect.life,
            audience=effect.audience,
            up_to_seq=effect.up_to_seq,
            messages=effect.messages,
        )
        try:
            await self._memory.distil(conversation)
        except MemoryUnavailableError as error:
            _log.warning("the conversation was not distilled: %s", error)
        self._post(FinishDistillation(token=effect.token))

    async def _queue(self, effect: QueueCheckpoint) -> None:
        checkpoint = MemoryCheckpoint(
            checkpoint_id=effect.checkpoint_id,
            session_id=effect.session_id,
            life=effect.life,
            audience=effect.audience,
            text=effect.text,
        )
        try:
            await self._memory.queue_checkpoint(checkpoint)
        except MemoryUnavailableError as error:
            _log.warning("the notes were not queued for memory: %s", error)
