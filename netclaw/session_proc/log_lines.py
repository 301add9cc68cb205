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

from netclaw.core.ids import InputId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.redaction import LOGGED_STRING_MAX, redact_arguments
from netclaw.core.session.consent_events import (
    ConsentAnswered,
    ConsentRequested,
    ConsentWithdrawn,
)
from netclaw.core.session.events import (
    Compacted,
    CrashRecorded,
    DrainStopped,
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
from netclaw.core.session.state import SessionState
from netclaw.session_proc import run_lines

HASH_CHARS = 12
"""Hex digits of the SHA-256 of a long text."""

Redact = Callable[[str], str]


def stamp(at_ms: int) -> str:
    """The time as in every line: UTC, milliseconds."""
    moment = datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03d}Z"


def note_line(at_ms: int, level: str, text: str) -> str:
    """A line that no event stands behind; later lines of the text are indented under it."""
    indented = text.rstrip("\n").replace("\n", "\n    ")
    return f"{stamp(at_ms)} {level.capitalize()}: {indented}\n"


class LogLines:
    """Renders events; every text is redacted before it is shown."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact

    def render(self, recorded: Recorded, after: SessionState) -> str:
        """All lines of one event, each with its line end; empty when it has none.

        `after` is the state with this event applied.
        """
        head = f"{stamp(recorded.at)} "
        return "".join(f"{head}{line}\n" for line in self._lines(recorded.event, after))

    def note(self, at_ms: int, level: str, text: str) -> str:
        """A line about the session that no event stands behind."""
        return note_line(at_ms, level, self._redact(text))

    def quote(self, text: str) -> str:
        """A text on one line, redacted; of a long one only length and hash are told."""
        if len(text) <= LOGGED_STRING_MAX:
            return json.dumps(self._redact(text), ensure_ascii=False)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_CHARS]
        return f"<{len(text)} characters, sha256 {digest}>"

    @singledispatchmethod
    def _lines(self, event: object, _after: SessionState) -> Iterator[str]:
        line = run_lines.line_of(event, self.quote)
        if line:
            yield line

    @_lines.register
    def _(self, event: TurnStarted, after: SessionState) -> Iterator[str]:
        yield f"Turn {event.turn_id} started"
        yield from self._inputs(event.input_ids, after)

    @_lines.register
    def _(self, event: InputJoined, after: SessionState) -> Iterator[str]:
        yield f"Turn {event.turn_id} joined"
        yield from self._inputs(event.input_ids, after)

    @_lines.register
    def _(self, event: Resumed, _after: SessionState) -> Iterator[str]:
        yield f"Turn {event.turn_id} resumed"

    @_lines.register
    def _(self, event: OutputStarted, _after: SessionState) -> Iterator[str]:
        yield f"Output started: round {event.round}"

    @_lines.register
    def _(self, event: RoundRecorded, _after: SessionState) -> Iterator[str]:
        yield from self._message(event.message)
        yield _usage(event.usage, event.model)

    @_lines.register
    def _(self, event: ToolBatchStarted, _after: SessionState) -> Iterator[str]:
        yield f"Tools started: {_ids(event.call_ids)}"

    @_lines.register
    def _(self, event: ToolResultRecorded, _after: SessionState) -> Iterator[str]:
        result = event.result
        receipt = result.receipt
        yield (
            f"Tool result {result.call_id}: {receipt.category.value}, {receipt.duration_ms} ms,"
            f" {self.quote(result.text)}"
        )

    @_lines.register
    def _(self, event: TurnRecorded, after: SessionState) -> Iterator[str]:
        yield from self._message(event.message)
        yield _usage(event.usage, event.model)
        yield f"Turn {after.turns} completed: {event.turn_id}, {event.outcome.value}"

    @_lines.register
    def _(self, event: TurnFailed, _after: SessionState) -> Iterator[str]:
        yield (
            f"Turn {event.turn_id} failed: {event.category.value}, reference"
            f" {event.reference or '-'}, {self.quote(event.note)}"
        )

    @_lines.register
    def _(self, event: ConsentRequested, _after: SessionState) -> Iterator[str]:
        request = event.request
        yield f"Consent asked: {request.call_id} {request.tool} {self.quote(request.display)}"

    @_lines.register
    def _(self, event: ConsentAnswered, _after: SessionState) -> Iterator[str]:
        yield (
            f"Consent answered: {event.call_id} {event.effect.value} ({self.quote(event.option)})"
            f" by {self.quote(event.answerer)}"
        )

    @_lines.register
    def _(self, event: ConsentWithdrawn, _after: SessionState) -> Iterator[str]:
        yield f"Consent withdrawn: {event.call_id} {event.reason.value}"

    @_lines.register
    def _(self, event: CrashRecorded, _after: SessionState) -> Iterator[str]:
        yield f"Process crashed: status {event.exit_status}, turn {event.turn_id or '-'}"

    @_lines.register
    def _(self, event: Compacted, _after: SessionState) -> Iterator[str]:
        yield f"Compacted: {event.tokens_before} to {event.tokens_after} tokens ({event.trigger})"
        if event.notes_model:
            yield _usage(event.notes_usage, event.notes_model)

    @_lines.register
    def _(self, event: TitleSet, _after: SessionState) -> Iterator[str]:
        yield f"Title: {self.quote(event.title)}"
        if event.model:
            yield _usage(event.usage, event.model)

    @_lines.register
    def _(self, event: WorkingDirectorySet, _after: SessionState) -> Iterator[str]:
        yield f"Project directory: {self.quote(event.path)}"

    @_lines.register
    def _(self, event: DrainStopped, _after: SessionState) -> Iterator[str]:
        yield f"Turn {event.turn_id} stopped by a drain: {event.point}"

    @_lines.register
    def _(self, _event: Passivated, _after: SessionState) -> Iterator[str]:
        yield "Passivated"

    def _inputs(self, input_ids: tuple[InputId, ...], after: SessionState) -> Iterator[str]:
        """The messages a turn took in: most were admitted before this process existed."""
        for item in after.in_turn:
            admitted = item.admitted
            if admitted.input_id in input_ids:
                source = admitted.authority.provenance.source_kind.value
                yield f"User ({source}, input {admitted.input_id}): {self.quote(admitted.text)}"

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
