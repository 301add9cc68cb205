"""What a conversation looks like: settled text above, the growing block and a status line below."""

from __future__ import annotations

import io
import shutil
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netclaw import __version__
from netclaw.cli.app import printable
from netclaw.cli.chat.blocks import BlockStream
from netclaw.cli.words import count, first_lines, shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from netclaw.wire.v1 import gateway_pb2
    from netclaw.wire.v1.common_pb2 import Output

GROWING_LINES = 8
TOOL_WIDTH = 100
RESULT_LINES = 4
HELP = (
    "/help       this list",
    "/quit       leave; the session stays (also Ctrl-D)",
    "Ctrl-C      stop the turn that runs",
    "Esc Enter   break the line",
)
MAX_WIDTH = 100
_BUSY = {"processing": "Working", "compacting": "Compacting", "recovering": "Waking up"}
_GOOD_OUTCOMES = ("Success", "success", "")


def width() -> int:
    """Columns to write in."""
    return min(shutil.get_terminal_size().columns, MAX_WIDTH)


def render_markdown(text: str) -> str:
    """A block of Markdown as lines with terminal colours."""
    from rich.console import Console
    from rich.markdown import Markdown

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width(), color_system="standard")
    console.print(Markdown(printable(text, keep_lines=True)))
    return out.getvalue().rstrip("\n")


def dim(text: str) -> str:
    """Text of less weight."""
    return f"\033[2m{text}\033[0m"


def colour(text: str, code: int) -> str:
    """Text in one of the terminal's own colours."""
    return f"\033[{code}m{text}\033[0m"


@dataclass(slots=True)
class Screen:
    """Turns outputs into lines; `write` puts a finished line above the prompt."""

    write: Callable[[str], None]
    title: str = ""
    phase: str = "passive"
    waiting: int = 0
    usage: str = ""
    _blocks: BlockStream = field(default_factory=BlockStream)
    _streamed: dict[tuple[str, int], str] = field(default_factory=dict)
    _incarnation: int = 0
    _is_thinking: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs."""
        return self.phase in _BUSY

    def growing(self) -> str:
        """The newest rows of the block that still grows, as wide as the terminal."""
        columns = width()
        rows = []
        for line in self._blocks.growing.splitlines():
            # `replace_whitespace` off: code keeps its indentation.
            rows += textwrap.wrap(line, columns, replace_whitespace=False) or [""]
        return printable("\n".join(rows[-GROWING_LINES:]), keep_lines=True)

    def status(self, session_id: str, *, is_connected: bool, unsent: int) -> str:
        """The line below the prompt."""
        state = _BUSY.get(self.phase, "Ready") if is_connected else "Disconnected"
        queued = self.waiting + unsent
        parts = [
            state,
            f"Queued {queued}" if queued else "",
            self.usage,
            self.title or session_id,
            "Ctrl-C stops the turn" if self.is_busy else "Ctrl-D leaves",
        ]
        return " | ".join(printable(part) for part in parts if part)

    def you(self, text: str) -> None:
        """A message of the person."""
        self.write(colour("> ", 36) + printable(text, keep_lines=True))

    def tell(self, line: str) -> None:
        """A remark that is no part of the conversation."""
        self._settle()
        self.write(colour(printable(line), 33))

    def greet(self, session_id: str) -> None:
        """The first line: where this is, and how to leave."""
        keys = "Ctrl-C stops a turn, Ctrl-D leaves, Esc Enter breaks a line"
        self.write(dim(printable(f"netclaw {__version__}, session {session_id}. {keys}.")) + "\n")

    def help(self) -> None:
        """What can be typed and pressed here."""
        for line in HELP:
            self.write(dim(line))

    def past(self, items: list[gateway_pb2.HistoryItem]) -> None:
        """Earlier messages, greyed."""
        for item in items:
            if item.role in ("user", "assistant") and item.text:
                mark = "> " if item.role == "user" else ""
                self.write(dim(mark + printable(item.text, keep_lines=True)))

    def show(self, output: Output) -> None:
        """Take an output in."""
        handler = _HANDLERS.get(output.type)
        if handler is not None:
            handler(self, output)

    def _settle(self) -> None:
        rest = self._blocks.end()
        if rest.strip():
            self.write(render_markdown(rest))

    def _piece(self, text: str) -> None:
        for block in self._blocks.feed(text):
            self.write(render_markdown(block) + "\n")

    def _delta(self, output: Output) -> None:
        key = (output.turn_id, output.round)
        if output.incarnation != self._incarnation and self._streamed.pop(key, ""):
            self.tell("[restarted] the answer begins again")
        self._incarnation = output.incarnation
        self._streamed[key] = self._streamed.get(key, "") + output.text
        self._piece(output.text)

    def _text(self, output: Output) -> None:
        shown = self._streamed.pop((output.turn_id, output.round), "")
        if not output.text.startswith(shown):
            self._settle()
            shown = ""
        self._piece(output.text[len(shown) :])
        self._settle()

    def _call(self, output: Output) -> None:
        self._settle()
        arguments = shorten(output.arguments, TOOL_WIDTH)
        self.write(colour(f"* {output.tool_name}", 35) + dim(f" {printable(arguments)}"))

    def _result(self, output: Output) -> None:
        mark = dim("  ok ") if output.outcome in _GOOD_OUTCOMES else colour("  failed ", 31)
        first, *rest = first_lines(output.text, RESULT_LINES, TOOL_WIDTH)
        self.write(f"{mark}{dim(first)}")
        for line in rest:
            self.write(dim(f"     {line}"))

    def _usage(self, output: Output) -> None:
        used = output.usage.input_tokens
        if not used and not output.usage.output_tokens:
            return  # the service reported none
        window = output.context_window
        percent = f" ({100 * used // window} %)" if window else ""
        self.usage = f"{count(used)} in{percent}, {count(output.usage.output_tokens)} out"

    def _processing(self, output: Output) -> None:
        self.phase, self.waiting = output.phase, output.buffered_inputs

    def _completed(self, output: Output) -> None:
        self._settle()
        self.write(dim("[stopped]\n") if output.outcome == "stopped" else "")
        self._streamed.clear()

    def _error(self, output: Output) -> None:
        self._settle()
        reference = f" (reference {output.reference})" if output.reference else ""
        self.write(colour(printable(f"[error] {output.text}{reference}"), 31))

    def _title(self, output: Output) -> None:
        self.title = output.text

    def _notice(self, output: Output) -> None:
        self.tell(output.text)

    def _file(self, output: Output) -> None:
        self._settle()
        self.write(colour(printable(f"[file] {output.path}"), 34))

    def _compaction(self, output: Output) -> None:
        self.tell(f"[compaction] {output.tokens_before} -> {output.tokens_after} tokens")

    def _consent(self, output: Output) -> None:
        self.tell(f"[consent] {output.tool_name} waits for `netclaw approvals answer`")


_HANDLERS: dict[str, Callable[[Screen, Output], None]] = {
    "text_delta": Screen._delta,
    "text": Screen._text,
    "tool_call": Screen._call,
    "tool_result": Screen._result,
    "usage": Screen._usage,
    "processing": Screen._processing,
    "turn_completed": Screen._completed,
    "error": Screen._error,
    "title": Screen._title,
    "notice": Screen._notice,
    "file": Screen._file,
    "compaction": Screen._compaction,
    "consent_request": Screen._consent,
}
