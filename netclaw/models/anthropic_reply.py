"""Reads the events of a streamed message in Anthropic's dialect.

A message is a row of content blocks (text, thinking, tool use), each opened, grown by deltas and
closed, between `message_start` and `message_stop`. Deltas say themselves what they are, so they
are read by their own type; of the opening only a call's id and name are needed. What the dialect
may gain later (new events, blocks and deltas) is passed over.
"""

from __future__ import annotations

from typing import Any

import orjson

from netclaw.core.messages import Usage
from netclaw.models.call_assembly import Fragment
from netclaw.models.failures import Secrets
from netclaw.models.json_text import count_of, text_of
from netclaw.models.reply import ReplyAssembler


class MessagesReplyAssembler(ReplyAssembler):
    """One message; whole once `message_stop` has come, because usage may follow the stop reason."""

    __slots__ = ("_counts", "_stop_reason", "_whole_inputs")

    def __init__(self, secrets: Secrets) -> None:
        super().__init__(secrets)
        self._stop_reason = ""
        self._counts: dict[str, int] = {}
        self._whole_inputs: dict[int | None, str] = {}
        """Arguments that came whole with a block's opening; they count unless deltas follow."""

    def _take(self, data: bytes) -> None:
        event = self._parse(data)
        if event is None:
            return
        kind = event.get("type")
        if kind == "content_block_delta":
            self._take_delta(_index(event), event.get("delta"))
        elif kind == "error" or event.get("error"):
            self._fail(event)
        else:
            self._take_frame(kind, event)

    def _take_frame(self, kind: object, event: dict[str, Any]) -> None:
        """What stands around the deltas."""
        match kind:
            case "content_block_start":
                self._open_block(_index(event), event.get("content_block"))
            case "content_block_stop":
                self._close_block(_index(event))
            case "message_start":
                self._begin(event.get("message"))
            case "message_delta":
                self._take_ending(event.get("delta"))
                self._take_usage(event.get("usage"))
            case "message_stop":
                self._stop()
            case "ping":
                self._keep_alive()
            case "message":
                self._take_whole(event)

    def _begin(self, message: object) -> None:
        if isinstance(message, dict):
            self._model = text_of(message.get("model"))
            self._take_usage(message.get("usage"))

    def _open_block(self, index: int | None, block: object) -> None:
        if not isinstance(block, dict):
            return
        match block.get("type"):
            case "text":
                self._say_text(text_of(block.get("text")))
            case "thinking":
                self._say_thinking(text_of(block.get("thinking")))
            case "tool_use":
                call_id, name = text_of(block.get("id")), text_of(block.get("name"))
                self._take_call(Fragment(index=index, provider_id=call_id, name=name))
                whole = block.get("input")
                if whole and isinstance(whole, dict):
                    self._whole_inputs[index] = orjson.dumps(whole).decode()

    def _take_delta(self, index: int | None, delta: object) -> None:
        if not isinstance(delta, dict):
            return
        match delta.get("type"):
            case "text_delta":
                self._say_text(text_of(delta.get("text")))
            case "thinking_delta":
                self._say_thinking(text_of(delta.get("thinking")))
            case "input_json_delta":
                part = text_of(delta.get("partial_json"))
                if part:
                    self._whole_inputs.pop(index, None)
                    self._take_call(Fragment(index=index, arguments=part))

    def _close_block(self, index: int | None) -> None:
        whole = self._whole_inputs.pop(index, None)
        if whole is not None:
            self._take_call(Fragment(index=index, arguments=whole))

    def _take_ending(self, delta: object) -> None:
        if isinstance(delta, dict):
            self._stop_reason = text_of(delta.get("stop_reason")) or self._stop_reason

    def _take_usage(self, usage: object) -> None:
        """Counts are cumulative, and some gateways know them at the end only: the largest holds."""
        for key in _COUNTS:
            self._count(key, count_of(usage, key))
        if isinstance(usage, dict):
            thought = count_of(usage.get("output_tokens_details"), "thinking_tokens")
            self._count("thinking_tokens", thought)
        counts = self._counts
        cached = counts["cache_read_input_tokens"]
        self._usage = Usage(
            input_tokens=counts["input_tokens"] + cached + counts["cache_creation_input_tokens"],
            output_tokens=counts["output_tokens"],
            cached_input_tokens=cached,
            reasoning_tokens=counts.get("thinking_tokens", 0),
        )

    def _count(self, key: str, count: int) -> None:
        self._counts[key] = max(count, self._counts.get(key, 0))

    def _stop(self) -> None:
        for index in tuple(self._whole_inputs):
            self._close_block(index)
        self._finish = self._stop_reason
        self.is_done = True

    def _take_whole(self, message: dict[str, Any]) -> None:
        self._begin(message)
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            self._open_block(index, block)
        self._take_ending(message)
        self._stop()


_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


def _index(event: dict[str, Any]) -> int | None:
    index = event.get("index")
    return index if isinstance(index, int) else None
