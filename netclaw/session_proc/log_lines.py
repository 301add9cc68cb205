"""Renders committed events as the lines of a session log: what was said and done, for people.

A line is `<UTC time> <what>: <facts>`. Texts are quoted, so a line is always one line; a text over
`LOGGED_STRING_MAX` shows as its length and hash (decision 20). What is not committed never appears.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import singledispatchmethod

from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.redaction import LOGGED_STRING_MAX, redact_arguments
from netclaw.core.session.events import (
    Compacted,
    CrashRecorded,
    DrainStopped,
    InputAdmitted,
    InputJoined,
    OutputStarted,
    Passivated,
    Recorded,
    Resumed,
    RoundRecorded,
    TitleSet,
    ToolBatchStarted,
    ToolResultRecorded,
    TurnFailed,
    TurnRecorded,
    TurnStarted,
    WorkingDirectorySet,
)

HASH_CHARS = 12
"""Hex digits of the SHA-256 of a long text."""

Redact = Callable[[str], str]


def stamp(at_ms: int) -> str:
    """The time as in every line: UTC, milliseconds."""
    moment = datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03d}Z"


class LogLines:
    """Renders events; redacts every text before it is measured, hashed or shown."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact

    def render(self, recorded: Recorded, turns: int) -> str:
        """All lines of one event, each with its line end; empty when it has none.

        `turns` is the number of turns completed once this event is applied.
        """
        head = f"{stamp(recorded.at)} "
        return "".join(f"{head}{line}\n" for line in self._lines(recorded.event, turns))

    def note(self, at_ms: int, level: str, text: str) -> str:
        """A line about the session that no event stands behind."""
        return f"{stamp(at_ms)} {level.capitalize()}: {self._redact(text)}\n"

    def quote(self, text: str) -> str:
        """A text on one line, redacted; length and hash when it is long."""
        text = self._redact(text)
        return _short(text)

    @singledispatchmethod
    def _lines(self, _event: object, _turns: int) -> Iterator[str]:
        yield from ()

    @_lines.register
    def _(self, event: InputAdmitted, _turns: int) -> Iterator[str]:
        source = event.authority.provenance.source_kind.value
        yield f"User ({source}, input {event.input_id}): {self.quote(event.text)}"

    @_lines.register
    def _(self, event: TurnStarted, _turns: int) -> Iterator[str]:
        yield f"Turn {event.turn_id} started: inputs {_ids(event.input_ids)}"

    @_lines.register
    def _(self, event: Resumed, _turns: int) -> Iterator[str]:
        yield f"Turn {event.turn_id} resumed"

    @_lines.register
    def _(self, event: InputJoined, _turns: int) -> Iterator[str]:
        yield f"Turn {event.turn_id} joined by: inputs {_ids(event.input_ids)}"

    @_lines.register
    def _(self, event: OutputStarted, _turns: int) -> Iterator[str]:
        yield f"Output started: round {event.round}"

    @_lines.register
    def _(self, event: RoundRecorded, _turns: int) -> Iterator[str]:
        yield from self._message(event.message)
        yield _usage(event.usage, event.model)

    @_lines.register
    def _(self, event: ToolBatchStarted, _turns: int) -> Iterator[str]:
        yield f"Tools started: {_ids(event.call_ids)}"

    @_lines.register
    def _(self, event: ToolResultRecorded, _turns: int) -> Iterator[str]:
        result = event.result
        receipt = result.receipt
        yield (
            f"Tool result {result.call_id}: {receipt.category.value}, {receipt.duration_ms} ms,"
            f" {self.quote(result.text)}"
        )

    @_lines.register
    def _(self, event: TurnRecorded, turns: int) -> Iterator[str]:
        yield from self._message(event.message)
        yield _usage(event.usage, event.model)
        yield f"Turn {turns} completed: {event.turn_id}, {event.outcome.value}"

    @_lines.register
    def _(self, event: TurnFailed, _turns: int) -> Iterator[str]:
        yield (
            f"Turn {event.turn_id} failed: {event.category.value}, reference"
            f" {event.reference or '-'}, {self.quote(event.note)}"
        )

    @_lines.register
    def _(self, event: CrashRecorded, _turns: int) -> Iterator[str]:
        yield f"Process crashed: status {event.exit_status}, turn {event.turn_id or '-'}"

    @_lines.register
    def _(self, event: Compacted, _turns: int) -> Iterator[str]:
        yield f"Compacted: {event.tokens_before} to {event.tokens_after} tokens ({event.trigger})"

    @_lines.register
    def _(self, event: TitleSet, _turns: int) -> Iterator[str]:
        yield f"Title: {self.quote(event.title)}"

    @_lines.register
    def _(self, event: WorkingDirectorySet, _turns: int) -> Iterator[str]:
        yield f"Project directory: {self.quote(event.path)}"

    @_lines.register
    def _(self, event: DrainStopped, _turns: int) -> Iterator[str]:
        yield f"Turn {event.turn_id} stopped by a drain: {event.point}"

    @_lines.register
    def _(self, _event: Passivated, _turns: int) -> Iterator[str]:
        yield "Passivated"

    def _message(self, message: AssistantMessage) -> Iterator[str]:
        if message.thinking:
            yield f"Thinking: {self.quote(message.thinking)}"
        if message.text:
            yield f"Assistant: {self.quote(message.text)}"
        for call in message.calls:
            arguments = redact_arguments(call.arguments, self._redact)
            yield f"Tool call {call.call_id}: {self.quote(call.name)} {arguments}"


def _ids(ids: tuple[str, ...]) -> str:
    return ", ".join(ids) or "none"


def _usage(usage: Usage, model: str) -> str:
    return (
        f"Usage: input {usage.input_tokens} (cached {usage.cached_input_tokens}),"
        f" output {usage.output_tokens} (reasoning {usage.reasoning_tokens}), model {model or '-'}"
    )


def _short(text: str) -> str:
    if len(text) <= LOGGED_STRING_MAX:
        return json.dumps(text, ensure_ascii=False)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_CHARS]
    return f"<{len(text)} characters, sha256 {digest}>"
