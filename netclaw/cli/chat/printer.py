"""Prints a turn as it runs: its text on standard output, everything else beside it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netclaw.cli.app import App, printable
from netclaw.cli.streams import write_out
from netclaw.cli.words import first_lines, shorten

if TYPE_CHECKING:
    from netclaw.wire.v1.common_pb2 import Output, Usage

ARGUMENTS_WIDTH = 200
RESULT_WIDTH = 200
RESULT_LINES = 4


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
    _is_mid_line: bool = False

    def show(self, output: Output) -> None:
        """Show one output."""
        match output.type:
            case "text_delta":
                self._delta(output)
            case "text":
                self._text(output)
            case "tool_call":
                arguments = shorten(output.arguments, ARGUMENTS_WIDTH)
                self._beside(f"[tool:call] {output.tool_name} {arguments}")
            case "tool_result":
                first, *rest = first_lines(output.text, RESULT_LINES, RESULT_WIDTH)
                self._beside(f"[tool:result] {output.tool_name} {output.outcome}: {first}")
                for line in rest:
                    self._beside(f"  {line}")
            case "file":
                self._beside(f"[file] {output.path}")
            case "compaction":
                self._beside(f"[compaction] {output.tokens_before} -> {output.tokens_after} tokens")
            case "notice":
                self._beside(f"[notice] {output.text}")
            case "consent_request":
                self._beside(f"[consent] {output.tool_name} needs consent: {output.text}")

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
