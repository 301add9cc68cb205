"""What a session asks of a model, and what comes back while it answers.

A model call is one stream: deltas as they arrive, then exactly one `Finished` with the whole
answer, or a `ModelCallError`. Watchdogs (prefill, token gap, no progress) are the caller's: a
client has no limit of its own on how long a model may think, only on how long a connection may
take to open.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from netclaw.core.errors import CATEGORY_CODES, ErrorCategory, ErrorCode
from netclaw.core.messages import Message, Usage
from netclaw.core.session.commands import FinishReason
from netclaw.core.tool_call import ToolDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """An API key as a plain value that shows itself nowhere: not in `repr`, not in a log."""

    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The content of an attachment that a model can look at."""

    media_type: str
    base64: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One model call: the static layers, the conversation, the tools that may be called.

    `max_output_tokens` overrides the model's own setting. Thinking in `messages` is never shown
    back to the model. `stable_ends` counts leading messages that other calls begin with too: good
    places for a provider to keep what it has read. `pictures` are by upload id; a model that takes
    none, or a picture that is not there, gets the line that names the attachment.
    """

    messages: tuple[Message, ...]
    system_prompt: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    max_output_tokens: int | None = None
    stable_ends: tuple[int, ...] = ()
    pictures: Mapping[str, Picture] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """More of the answer's text; never empty."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta:
    """More of the model's reasoning; never empty."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDelta:
    """A tool call grew: real output for a watchdog, nothing to act on before `Finished`.

    `position` counts the calls of this answer from 0; `characters` is how much was added.
    """

    position: int
    name: str
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Keepalive:
    """The connection is alive, but nothing was said; counts for no watchdog as output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled:
    """An attempt failed before its first chunk; the next one starts in `wait_s` seconds."""

    attempt: int
    wait_s: float
    category: ErrorCategory
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCall:
    """A tool call as the model wrote it, which nobody has judged yet."""

    provider_call_id: str
    name: str
    arguments: str
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The whole answer; the last item of a stream that ended by itself.

    `calls` are as the model wrote them: ids may be empty or doubled, a call that cannot be run
    carries a fault. With `FinishReason.LENGTH` or `CONTENT_FILTER` text and calls may be cut.
    `usage` is all zeros when the provider reported none; `model` is the name it answered under.
    An answer may be empty: whether that is acceptable is for the session's rules.
    """

    finish: FinishReason
    text: str
    thinking: str = ""
    calls: tuple[WrittenCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""


StreamItem = TextDelta | ThinkingDelta | CallDelta | Keepalive | RetryScheduled | Finished


class ModelCallError(Exception):
    """A model call failed.

    `sentence` is fit to show to a person: no exception text, no credential, no words of the
    provider. `detail` is for logs: the provider's own words, bounded and without the credential.
    `is_before_first_chunk`: nothing of the answer had arrived, so calling again doubles nothing.
    `is_transient`: the same call may succeed later, after `retry_after_s` if the provider said so.
    `is_context_overflow`: the conversation is too long for the model; compaction may help.
    """

    def __init__(
        self,
        category: ErrorCategory,
        sentence: str,
        *,
        detail: str = "",
        retry_after_s: float | None = None,
        is_before_first_chunk: bool = True,
        is_transient: bool = False,
        is_context_overflow: bool = False,
    ) -> None:
        super().__init__(sentence)
        self.category = category
        self.sentence = sentence
        self.detail = detail
        self.retry_after_s = retry_after_s
        self.is_before_first_chunk = is_before_first_chunk
        self.is_transient = is_transient
        self.is_context_overflow = is_context_overflow

    @property
    def code(self) -> ErrorCode:
        """The stable code of the category."""
        return CATEGORY_CODES[self.category]

    @property
    def is_retryable_elsewhere(self) -> bool:
        """Whether another model may be asked: nothing arrived, and the fault is not ours."""
        return self.is_before_first_chunk and self.category in (
            ErrorCategory.TIMEOUT,
            ErrorCategory.PROVIDER_FAILURE,
            ErrorCategory.RATE_LIMITED,
        )


class ModelClient(Protocol):
    """One usable model. Safe for many calls at once."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Call the model and yield its answer as it arrives; the last item is `Finished`.

        Raises `ModelCallError`. Cancelling the consuming task, or `aclose()` on the generator,
        drops the connection, so the provider can stop working; a consumer that may leave early
        wraps it in `contextlib.aclosing`.
        """
        ...
