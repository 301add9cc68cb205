"""Reads the events of a streamed chat completion and puts the answer together.

Sans I/O. Deltas that arrived in one read leave as one item: what a person sees is the same, and
the cost of an item is paid once instead of per token.
"""

from __future__ import annotations

from typing import Any

import orjson

from netclaw.core.errors import ErrorCategory
from netclaw.core.messages import Usage
from netclaw.core.session.commands import FinishReason
from netclaw.models.call_assembly import CallAssembly, TooManyCallsError
from netclaw.models.failures import Secrets, from_error_event
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

DONE = b"[DONE]"
MAX_REPLY_CHARS = 32 * 1024 * 1024
"""An answer beyond this is a runaway; it would only be cut by the memory ceiling of the process."""

_FINISH_REASONS = {
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "tool_use": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "safety": FinishReason.CONTENT_FILTER,
    "recitation": FinishReason.CONTENT_FILTER,
}
_FAILED_FINISH = frozenset({"error", "abort", "insufficient_system_resource"})


class ReplyAssembler:
    """One answer. `feed` events; then `failure` says what broke, or `finished` gives the whole."""

    __slots__ = (
        "_calls",
        "_chars",
        "_finish",
        "_items",
        "_model",
        "_pending",
        "_pending_type",
        "_secrets",
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
        self._chars = 0
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

    @property
    def is_complete(self) -> bool:
        """A finish reason has arrived: only usage may still be missing."""
        return self._finish is not None

    def feed(self, events: list[bytes]) -> list[StreamItem]:
        """The items that these events amount to; stops at the end of the answer or a failure."""
        self._items = []
        for data in events:
            if data == KEEPALIVE:
                self._flush()
                self._items.append(Keepalive())
            elif data == DONE:
                self.is_done = True
                break
            else:
                self._take(data)
                if self.failure is not None:
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

    def _take(self, data: bytes) -> None:
        chunk = _parse(data)
        if not isinstance(chunk, dict):
            self.failure = self.error(
                ErrorCategory.PROVIDER_FAILURE,
                "The model service sent something that is not a model answer.",
                detail=self._secrets.scrub(data[:200].decode("utf-8", "replace")),
                is_transient=True,
            )
            return
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            self._take_choice(choices[0])
        error = chunk.get("error")
        if error or chunk.get("object") == "error":
            self.failure = from_error_event(chunk, secrets=self._secrets)
            self.failure.is_before_first_chunk = not self.is_started
            return
        usage = chunk.get("usage")
        if usage is not None:
            self._usage = read_usage(usage) or self._usage
        if not self._model:
            self._model = _text(chunk.get("model"))

    def _take_choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._take_delta(delta)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            if reason.lower() in _FAILED_FINISH:
                self.failure = self.error(
                    ErrorCategory.PROVIDER_FAILURE,
                    "The model service gave up on its answer.",
                    detail=self._secrets.scrub(f"finish_reason {reason}"),
                    is_transient=True,
                )
            self._finish = reason

    def _take_delta(self, delta: dict[str, Any]) -> None:
        content = delta.get("content")
        if content:
            self._say(
                TextDelta, self._text, content if isinstance(content, str) else _join(content)
            )
        thinking = delta.get("reasoning_content") or delta.get("reasoning")
        if thinking:
            self._say(ThinkingDelta, self._thinking, _text(thinking))
        refusal = delta.get("refusal")
        if refusal:
            self._say(TextDelta, self._text, _text(refusal))
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            for raw in calls:
                self._take_call(raw)

    def _say(self, kind: type[TextDelta | ThinkingDelta], whole: list[str], text: str) -> None:
        if not text:
            return
        if kind is not self._pending_type:
            self._flush()
            self._pending_type = kind
        self._pending.append(text)
        whole.append(text)
        self._grow(len(text))

    def _take_call(self, raw: object) -> None:
        try:
            growth = self._calls.feed(raw)
        except TooManyCallsError:
            self.failure = self.error(
                ErrorCategory.MODEL_BEHAVIOR, "The model asked for too many tool calls at once."
            )
            return
        if growth is None:
            return
        self._flush()
        characters = growth.characters
        self._grow(characters)
        last = self._items[-1] if self._items else None
        if isinstance(last, CallDelta) and last.position == growth.position:
            characters += last.characters
            self._items.pop()
        self._items.append(
            CallDelta(position=growth.position, name=growth.name, characters=characters)
        )

    def _grow(self, characters: int) -> None:
        self.is_started = True
        self._chars += characters
        if self._chars > MAX_REPLY_CHARS:
            self.failure = self.error(
                ErrorCategory.MODEL_BEHAVIOR, "The model's answer does not end; it was stopped."
            )

    def _flush(self) -> None:
        if self._pending:
            self._items.append(self._pending_type(text="".join(self._pending)))
            self._pending.clear()


def read_usage(value: object) -> Usage | None:
    """Token counts in the forms that providers use; None if it is no usage object."""
    if not isinstance(value, dict):
        return None
    prompt_details = value.get("prompt_tokens_details")
    output_details = value.get("completion_tokens_details")
    cached = _count(prompt_details, "cached_tokens") or _count(value, "prompt_cache_hit_tokens")
    return Usage(
        input_tokens=_count(value, "prompt_tokens"),
        output_tokens=_count(value, "completion_tokens"),
        cached_input_tokens=cached,
        reasoning_tokens=_count(output_details, "reasoning_tokens"),
    )


def _count(holder: object, key: str) -> int:
    value = holder.get(key) if isinstance(holder, dict) else None
    return max(0, int(value)) if isinstance(value, int | float) else 0


def _parse(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        # Bytes that are no UTF-8 cost their character, not the answer.
        return orjson.loads(data.decode("utf-8", "replace"))
    except orjson.JSONDecodeError:
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _join(content: object) -> str:
    """Text of a content that is a list of parts."""
    if not isinstance(content, list):
        return ""
    return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
