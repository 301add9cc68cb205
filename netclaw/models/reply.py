"""Puts a streamed answer together, whatever the dialect of its events.

Sans I/O. Deltas that arrived in one read leave as one item: what a person sees is the same, and
the cost of an item is paid once instead of per token.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from netclaw.core.errors import ErrorCategory
from netclaw.core.messages import Usage
from netclaw.core.session.commands import FinishReason
from netclaw.models.call_assembly import CallAssembly, Fragment, TooManyCallsError
from netclaw.models.failures import Secrets, from_error_event
from netclaw.models.json_text import parse_lenient
from netclaw.models.sse import KEEPALIVE
from netclaw.ports.model import (
    CallDelta,
    Finished,
    Keepalive,
    ModelCallError,
    StreamItem,
    TextDelta,
    ThinkingDelta,
)

MAX_REPLY_BYTES = 3 * 1024 * 1024
"""An answer with more text, thinking and arguments than this, as UTF-8, is a runaway: all that
comes after it (journal row, replay, reply to a channel) is made for sizes that people read."""

_FINISH_REASONS = {
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "tool_use": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "safety": FinishReason.CONTENT_FILTER,
    "recitation": FinishReason.CONTENT_FILTER,
    "refusal": FinishReason.CONTENT_FILTER,
}


class ReplyAssembler(ABC):
    """One answer. `feed` events; then `failure` says what broke, or `finished` gives the whole.

    A dialect reads its events in `_take` and tells what they say through the other methods.
    """

    __slots__ = (
        "_calls",
        "_finish",
        "_items",
        "_model",
        "_pending",
        "_pending_type",
        "_secrets",
        "_size",
        "_text",
        "_thinking",
        "_usage",
        "failure",
        "is_done",
        "is_started",
    )

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls = CallAssembly()
        self._size = 0
        self._finish: str | None = None
        self._usage = Usage()
        self._model = ""
        self._items: list[StreamItem] = []
        self._pending: list[str] = []
        self._pending_type: type[TextDelta | ThinkingDelta] = TextDelta
        self.failure: ModelCallError | None = None
        """What ended the answer early; raised after the items before it were handed out."""
        self.is_done = False
        """The provider said that nothing more will come."""
        self.is_started = False
        """Something of the answer has arrived."""

    @abstractmethod
    def _take(self, data: bytes) -> None:
        """Read one event; `_finish` is set by what makes the answer whole in this dialect."""

    @property
    def is_complete(self) -> bool:
        """The answer is whole; what may still follow is not needed for it."""
        return self._finish is not None

    def feed(self, events: list[bytes]) -> list[StreamItem]:
        """The items that these events amount to; stops at the end of the answer or a failure."""
        self._items = []
        for data in events:
            if data == KEEPALIVE:
                self._keep_alive()
            else:
                self._take(data)
                if self.is_done or self.failure is not None:
                    break
        self._flush()
        return self._items

    def feed_whole(self, body: bytes) -> list[StreamItem]:
        """The items of an answer that came in one piece, from a server that does not stream."""
        items = self.feed([body])
        self.is_done = True
        return items

    def finished(self) -> Finished:
        """The whole answer. Raises `ModelCallError` if the stream broke off before its end."""
        if self.failure is not None:
            raise self.failure
        if self._finish is None:
            raise self.error(
                ErrorCategory.PROVIDER_FAILURE,
                "The model service broke off its answer.",
                is_transient=True,
            )
        return Finished(
            finish=self._finish_reason(self._finish),
            text="".join(self._text),
            thinking="".join(self._thinking),
            calls=self._calls.calls(),
            usage=self._usage,
            model=self._model,
        )

    def error(
        self,
        category: ErrorCategory,
        sentence: str,
        *,
        detail: str = "",
        is_transient: bool = False,
    ) -> ModelCallError:
        """An error that knows whether something of the answer has arrived."""
        return ModelCallError(
            category,
            sentence,
            detail=detail,
            is_before_first_chunk=not self.is_started,
            is_transient=is_transient,
        )

    def _finish_reason(self, reason: str) -> FinishReason:
        known = _FINISH_REASONS.get(reason.lower(), FinishReason.STOP)
        if known in (FinishReason.STOP, FinishReason.TOOL_CALLS):
            # Several servers say "stop" beside calls; what was asked for decides.
            return FinishReason.TOOL_CALLS if self._calls else FinishReason.STOP
        return known

    def _parse(self, data: bytes) -> dict[str, Any] | None:
        """The object that an event carries; None is a failure, and noted as one."""
        chunk = parse_lenient(data)
        if isinstance(chunk, dict):
            return chunk
        self.failure = self.error(
            ErrorCategory.PROVIDER_FAILURE,
            "The model service sent something that is not a model answer.",
            detail=self._secrets.scrub(data[:200].decode("utf-8", "replace")),
            is_transient=True,
        )
        return None

    def _fail(self, event: dict[str, Any]) -> None:
        """End the answer with the error that the provider reports in `event`."""
        self.failure = from_error_event(event, secrets=self._secrets)
        self.failure.is_before_first_chunk = not self.is_started

    def _say_text(self, text: str) -> None:
        self._say(TextDelta, self._text, text)

    def _say_thinking(self, text: str) -> None:
        self._say(ThinkingDelta, self._thinking, text)

    def _keep_alive(self) -> None:
        self._flush()
        self._items.append(Keepalive())

    def _say(self, kind: type[TextDelta | ThinkingDelta], whole: list[str], text: str) -> None:
        if not text:
            return
        if kind is not self._pending_type:
            self._flush()
            self._pending_type = kind
        self._pending.append(text)
        whole.append(text)
        self._grow(_size_of(text))

    def _take_call(self, fragment: Fragment) -> None:
        try:
            growth = self._calls.feed(fragment)
        except TooManyCallsError:
            self.failure = self.error(
                ErrorCategory.MODEL_BEHAVIOR, "The model asked for too many tool calls at once."
            )
            return
        if growth is None:
            return
        self._flush()
        characters = growth.characters
        self._grow(_size_of(fragment.arguments))
        last = self._items[-1] if self._items else None
        if isinstance(last, CallDelta) and last.position == growth.position:
            characters += last.characters
            self._items.pop()
        self._items.append(
            CallDelta(position=growth.position, name=growth.name, characters=characters)
        )

    def _grow(self, size: int) -> None:
        self.is_started = True
        self._size += size
        if self._size > MAX_REPLY_BYTES:
            self.failure = self.error(
                ErrorCategory.MODEL_BEHAVIOR, "The model's answer does not end; it was stopped."
            )

    def _flush(self) -> None:
        if self._pending:
            self._items.append(self._pending_type(text="".join(self._pending)))
            self._pending.clear()


def _size_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
