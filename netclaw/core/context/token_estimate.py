"""How many tokens a conversation has, without the model's tokenizer (decision 76).

The counts that providers report are the truth. Between two reports, and for what is about to be
sent, characters are counted and divided by the ratio that the last report taught.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from netclaw.core.messages import AssistantMessage, Message, UserMessage
from netclaw.core.tool_call import ToolDefinition

DEFAULT_CHARACTERS_PER_TOKEN = 4.0
"""Until a provider has reported anything."""

LEAST_CHARACTERS_PER_TOKEN = 1.0
MOST_CHARACTERS_PER_TOKEN = 8.0
"""Real tokenizers stay between these two on any language; a report beyond them is not about the
characters that were counted (images, a provider's own prompt)."""

MESSAGE_OVERHEAD = 16
"""Characters for the role, ids and marks around each message."""

MEDIA_CHARACTERS = 4_000
"""An image costs about as much as this much text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSize:
    """The characters of one model request, for the ratio that its report teaches."""

    static_characters: int = 0
    """System prompt and tool definitions."""
    message_characters: int = 0

    @property
    def total(self) -> int:
        """All characters of the request."""
        return self.static_characters + self.message_characters


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenMeter:
    """What is known about a session's tokens: the learned ratio and the size of the static part."""

    characters_per_token: float = DEFAULT_CHARACTERS_PER_TOKEN
    static_characters: int = 0

    def learned(self, size: RequestSize, tokens: int) -> TokenMeter:
        """The meter after a request of this size was reported with this many input tokens.

        A report of 0 tokens is no report, and a size of 0 is not known: neither teaches a ratio.
        """
        if not size.total:
            return self
        known = replace(self, static_characters=size.static_characters)
        if tokens <= 0:
            return known
        ratio = size.total / tokens
        ratio = min(MOST_CHARACTERS_PER_TOKEN, max(LEAST_CHARACTERS_PER_TOKEN, ratio))
        return replace(known, characters_per_token=ratio)

    def tokens(self, characters: int) -> int:
        """The tokens of this many characters, rounded up."""
        return -int(-characters // self.characters_per_token)


def measure(
    messages: Iterable[Message], *, system_prompt: str = "", tools: Iterable[ToolDefinition] = ()
) -> RequestSize:
    """The size of a request."""
    shown = sum(len(tool.name) + len(tool.description) + len(tool.parameters) for tool in tools)
    return RequestSize(
        static_characters=len(system_prompt) + shown,
        message_characters=characters_of(messages),
    )


def characters_of(messages: Iterable[Message]) -> int:
    """The characters that these messages put into a request."""
    return sum(message_characters(message) for message in messages)


def message_characters(message: Message) -> int:
    """The characters of one message; thinking counts for nothing, because it is never sent back."""
    characters = MESSAGE_OVERHEAD + len(message.text)
    if isinstance(message, AssistantMessage):
        characters += sum(
            MESSAGE_OVERHEAD + len(call.name) + len(call.arguments) for call in message.calls
        )
    elif isinstance(message, UserMessage):
        characters += MEDIA_CHARACTERS * len(message.media)
    return characters
