"""Prints a turn as it runs: its text on standard output, everything else beside it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netclaw.cli.app import App, printable
from netclaw.cli.chat.gauge import ENDED_RUNS
from netclaw.cli.chat.job_line import job_line
from netclaw.cli.chat.question_view import answer_hint
from netclaw.cli.chat.verdict import UNATTENDED
from netclaw.cli.streams import write_out
from netclaw.cli.words import first_lines, shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from netclaw.wire.v1.common_pb2 import Output, Usage

ARGUMENTS_WIDTH = 200
RESULT_WIDTH = 200
RESULT_LINES = 4
UNATTENDED_FIX = (
    "  fix: `netclaw authorize --unattended -- COMMAND` says what it lacks;"
    " `netclaw approvals trust-verb 'WORDS'` allows it"
)


@dataclass(slots=True)
class _Streamed:
    """What was shown of one round's text."""

    incarnation: int
    text: str = ""


@dataclass(slots=True)
class PlainPrinter:
    """Shows outputs as they come; the text is never shown twice."""

    app: App
    _streamed: dict[tuple[str, int], _Streamed] = field(default_factory=dict)
    _calls: dict[str, str] = field(default_factory=dict)
    _is_mid_line: bool = False
    _is_advised: bool = False

    def show(self, output: Output) -> None:
        """Show one output."""
        handler = _HANDLERS.get(output.type)
        if handler is not None:
            handler(self, output)
            return
        write = _LINES.get(output.type)
        if write is not None:
            self._beside(write(output))

    def _call(self, output: Output) -> None:
        line = f"{output.tool_name} {shorten(output.arguments, ARGUMENTS_WIDTH)}"
        self._calls[output.call_id] = line
        self._beside(f"[tool:call] {line}")

    def _consent_over(self, output: Output) -> None:
        self._beside(f"[consent] {self._calls.get(output.call_id, '')} {output.outcome}")

    def _result(self, output: Output) -> None:
        first, *rest = first_lines(output.text, RESULT_LINES, RESULT_WIDTH)
        if UNATTENDED in output.text:
            call = self._calls.get(output.call_id, output.tool_name)
            self._beside(f"[consent] denied, because nobody is here to decide: {call}")
            if not self._is_advised:
                self._beside(UNATTENDED_FIX)
                self._is_advised = True
        self._beside(f"[tool:result] {output.tool_name} {output.outcome}: {first}")
        for line in rest:
            self._beside(f"  {line}")

    def total(self, usage: Usage) -> None:
        """What the whole run used, once, at its end."""
        total = usage.input_tokens + usage.output_tokens
        self._beside(
            f"[usage] in={usage.input_tokens} out={usage.output_tokens} total={total}"
            f" cached={usage.cached_input_tokens}"
        )

    def end(self) -> None:
        """Finish the last line of text."""
        if self._is_mid_line:
            self._write("\n")

    def _beside(self, line: str) -> None:
        self.end()
        self.app.note(printable(line))

    def _write(self, text: str) -> None:
        if text:
            shown = printable(text, keep_lines=True) if sys.stdout.isatty() else text
            write_out(shown)
            self._is_mid_line = not text.endswith("\n")

    def _delta(self, output: Output) -> None:
        key = (output.turn_id, output.round)
        streamed = self._streamed.setdefault(key, _Streamed(output.incarnation))
        if streamed.incarnation != output.incarnation:
            # The session's process was replaced and the model was asked again.
            self._beside("[restarted] the answer begins again")
            streamed = self._streamed[key] = _Streamed(output.incarnation)
        streamed.text += output.text
        self._write(output.text)

    def _text(self, output: Output) -> None:
        streamed = self._streamed.get((output.turn_id, output.round))
        shown = streamed.text if streamed is not None else ""
        if not output.text.startswith(shown):
            self.end()
            shown = ""
        self._write(output.text[len(shown) :])
        self.end()


def _child_line(output: Output) -> str:
    name = f"{output.agent} {output.run_id}".strip()
    if output.outcome == "Accepted":
        return f"[subagent:start] {name}"
    if output.outcome not in ENDED_RUNS:
        return f"[subagent] {name}: {output.outcome}"
    reason = f" ({output.text})" if output.text else ""
    return f"[subagent:done] {name}: {output.outcome}{reason}"


_HANDLERS: dict[str, Callable[[PlainPrinter, Output], None]] = {
    "text_delta": PlainPrinter._delta,
    "text": PlainPrinter._text,
    "tool_call": PlainPrinter._call,
    "tool_result": PlainPrinter._result,
    "consent_update": PlainPrinter._consent_over,
}
_LINES: dict[str, Callable[[Output], str]] = {
    "file": lambda output: f"[file] {output.path}",
    "compaction": lambda output: (
        f"[compaction] {output.tokens_before} -> {output.tokens_after} tokens"
    ),
    "notice": lambda output: f"[notice] {output.text}",
    "retry": lambda output: f"[retry] {output.text}",
    "consent_request": lambda output: (
        f"[consent] {output.tool_name} waits for a decision: {output.text}"
        f" ({answer_hint(output.call_id)})"
    ),
    "child": _child_line,
    "job": job_line,
}
"""One line beside the answer each."""
