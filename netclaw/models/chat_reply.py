"""Reads the events of a streamed chat completion."""

from __future__ import annotations

from typing import Any

import orjson

from netclaw.core.errors import ErrorCategory
from netclaw.core.messages import Usage
from netclaw.models.call_assembly import Fragment
from netclaw.models.json_text import count_of, text_of
from netclaw.models.reply import ReplyAssembler

DONE = b"[DONE]"

_FAILED_FINISH = frozenset({"error", "abort", "insufficient_system_resource"})


class ChatReplyAssembler(ReplyAssembler):
    """One chat completion; whole once a finish reason has come, whether or not usage follows."""

    __slots__ = ()

    def _take(self, data: bytes) -> None:
        if data == DONE:
            self.is_done = True
            return
        chunk = self._parse(data)
        if chunk is None:
            return
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            self._take_choice(choices[0])
        error = chunk.get("error")
        if error or chunk.get("object") == "error":
            self._fail(chunk)
            return
        usage = chunk.get("usage")
        if usage is not None:
            self._usage = read_usage(usage) or self._usage
        if not self._model:
            self._model = text_of(chunk.get("model"))

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
            self._say_text(content if isinstance(content, str) else _join(content))
        thinking = delta.get("reasoning_content") or delta.get("reasoning")
        if thinking:
            self._say_thinking(text_of(thinking))
        refusal = delta.get("refusal")
        if refusal:
            self._say_text(text_of(refusal))
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            for raw in calls:
                fragment = read_fragment(raw)
                if fragment is not None:
                    self._take_call(fragment)


def read_usage(value: object) -> Usage | None:
    """Token counts in the forms that providers use; None if it is no usage object."""
    if not isinstance(value, dict):
        return None
    prompt_details = value.get("prompt_tokens_details")
    output_details = value.get("completion_tokens_details")
    cached = count_of(prompt_details, "cached_tokens") or count_of(value, "prompt_cache_hit_tokens")
    return Usage(
        input_tokens=count_of(value, "prompt_tokens"),
        output_tokens=count_of(value, "completion_tokens"),
        cached_input_tokens=cached,
        reasoning_tokens=count_of(output_details, "reasoning_tokens"),
    )


def read_fragment(raw: object) -> Fragment | None:
    """One element of a `tool_calls` delta, None if it is none; arguments may be text or object."""
    if not isinstance(raw, dict):
        return None
    function = raw.get("function")
    if not isinstance(function, dict):
        function = {}
    index = raw.get("index")
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        arguments = orjson.dumps(arguments).decode()
    return Fragment(
        index=index if isinstance(index, int) and index >= 0 else None,
        provider_id=_word(raw.get("id")),
        name=_word(function.get("name")),
        arguments=_word(arguments),
    )


def _word(value: object) -> str:
    """Text that some servers write as a number."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _join(content: object) -> str:
    """Text of a content that is a list of parts."""
    if not isinstance(content, list):
        return ""
    return "".join(text_of(part.get("text")) for part in content if isinstance(part, dict))
