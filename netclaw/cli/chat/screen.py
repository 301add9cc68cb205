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
from netclaw.cli.chat.gauge import Gauge
from netclaw.cli.chat.job_line import job_line
from netclaw.cli.chat.question_view import answer_hint, end_line, keyed_options, question_lines
from netclaw.cli.chat.questions import question_of
from netclaw.cli.words import count, first_lines, shorten, took
from netclaw.core.session.slash import COMMANDS, CommandName

if TYPE_CHECKING:
    from collections.abc import Callable

    from netclaw.cli.chat.questions import Question
    from netclaw.wire.v1 import gateway_pb2
    from netclaw.wire.v1.common_pb2 import Output, Usage

GROWING_LINES = 8
RESULT_LINES = 4
LEAST_TOLD_S = 0.1
"""A turn that took less, with no call of a tool or the model, is no news."""
HELP = (
    ("/help", "this list"),
    ("/quit", "leave; the session stays (also Ctrl-D)"),
    ("Ctrl-C", "stop the turn that runs"),
    ("Esc Enter", "break the line"),
)
ANSWERED_HERE = "Answered by netclaw, not by the model:"
ESCAPE = ("//WORD", "says /WORD to the model")
MAX_WIDTH = 100
LEAST_WIDTH = 20
_GOOD_OUTCOMES = ("Success", "success", "")
_ENDS = {
    "stopped": "[stopped]",
    "guard-ended": "[ended] the model repeated itself or kept failing;",
}


def columns() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size().columns


def width() -> int:
    """Columns to write text in: longer lines are hard to read."""
    return max(LEAST_WIDTH, min(columns(), MAX_WIDTH))


def render_markdown(text: str, *, has_colours: bool = True) -> str:
    """A block of Markdown as lines, with terminal colours or without any escape."""
    from rich.console import Console
    from rich.markdown import Markdown

    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=has_colours,
        width=width(),
        color_system="standard" if has_colours else None,
        no_color=not has_colours,
    )
    markdown = Markdown(printable(text, keep_lines=True))
    for block in markdown.parsed:
        for piece in block.children or ():
            if piece.type == "softbreak":
                piece.type = "hardbreak"  # a line of the answer stays a line
    console.print(markdown)
    return out.getvalue().rstrip("\n")


@dataclass(slots=True)
class Screen:
    """Turns outputs into lines; `write` puts a finished line above what is below."""

    write: Callable[[str], None]
    has_colours: bool = True
    gauge: Gauge = field(default_factory=Gauge)
    _blocks: BlockStream = field(default_factory=BlockStream)
    _streamed: dict[tuple[str, int], str] = field(default_factory=dict)
    _incarnation: int = 0
    _open_calls: int = 0
    _tool_calls: int = 0
    _began_at: float = 0.0
    _turn_id: str = ""
    """The turn that calls and usage are counted of, once something of it came."""
    _usage: Usage | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs."""
        return self.gauge.is_busy

    def growing(self) -> str:
        """The newest rows of the block that still grows, as wide as the terminal."""
        rows = []
        for line in self._blocks.growing.splitlines():
            # `replace_whitespace` off: code keeps its indentation.
            rows += textwrap.wrap(line, width(), replace_whitespace=False) or [""]
        return printable("\n".join(rows[-GROWING_LINES:]), keep_lines=True)

    def status(
        self, session_id: str, *, is_connected: bool = True, unsent: int = 0, hint: str = ""
    ) -> str:
        """The line at the bottom: what the session does, how full it is, what to press."""
        if not hint:
            hint = "Ctrl-C stops the turn" if self.is_busy else "Ctrl-D leaves"
        return self.gauge.line(
            session_id, is_connected=is_connected, unsent=unsent, hint=hint, columns=columns() - 1
        )

    def dim(self, text: str) -> str:
        """Text of less weight."""
        return f"\033[2m{text}\033[0m" if self.has_colours else text

    def colour(self, text: str, code: int) -> str:
        """Text in one of the terminal's own colours."""
        return f"\033[{code}m{text}\033[0m" if self.has_colours else text

    def you(self, text: str) -> None:
        """A message of the person."""
        self.write(self.colour("> ", 36) + printable(text, keep_lines=True))

    def tell(self, line: str) -> None:
        """A remark that is no part of the conversation."""
        self.settle()
        self.write(self.colour(printable(line), 33))

    def greet(self, session_id: str) -> None:
        """The first line: where this is, and how to leave."""
        keys = "Ctrl-D leaves, /help tells more"
        line = printable(f"netclaw {__version__}, session {session_id}. {keys}.")
        self.write(self.dim(line) + "\n")

    def help(self) -> None:
        """What can be typed and pressed here, and what the session answers by itself."""
        commands = [spec for name, spec in COMMANDS.items() if name is not CommandName.HELP]
        for what, does in HELP:
            self.write(self.dim(f"{what:<13}{does}"))
        self.write("\n" + self.dim(ANSWERED_HERE))
        for what, does in (*((spec.usage, spec.summary) for spec in commands), ESCAPE):
            self.write(self.dim(f"{what:<13}{does}"))
        self.write("")

    def past(self, items: list[gateway_pb2.HistoryItem]) -> None:
        """Earlier messages, greyed; of what the model was told meanwhile a line: it may be why it
        spoke."""
        for item in items:
            if item.role == "note" and item.text:
                room = max(LEAST_WIDTH, width() - len("[note] "))
                text = shorten(item.text.removeprefix("[netclaw] "), room)
                self.write(self.dim(f"[note] {printable(text)}"))
            elif item.role in ("user", "assistant") and item.text:
                mark, end = ("> ", "") if item.role == "user" else ("", "\n")
                self.write(self.dim(mark + printable(item.text, keep_lines=True).rstrip()) + end)

    def show(self, output: Output) -> None:
        """Take an output in."""
        was_busy = self.gauge.is_busy
        self.gauge.feed(output)
        if self.gauge.is_busy is not was_busy:
            self._begin()
        handler = _HANDLERS.get(output.type)
        if handler is not None:
            handler(self, output)

    def _begin(self) -> None:
        """Measure anew: a turn begins now, if one runs."""
        self._began_at = self.gauge.clock() if self.gauge.is_busy else 0.0
        self._tool_calls, self._usage, self._turn_id = 0, None, ""

    def settle(self) -> None:
        """Write what is still growing as it is."""
        rest = self._blocks.end()
        if rest.strip():
            self.write(render_markdown(rest, has_colours=self.has_colours))

    def _piece(self, text: str) -> None:
        for block in self._blocks.feed(text):
            self.write(render_markdown(block, has_colours=self.has_colours) + "\n")

    def _delta(self, output: Output) -> None:
        key = (output.turn_id, output.round)
        if output.incarnation != self._incarnation and self._streamed.pop(key, ""):
            self.tell("[restarted] the answer begins again")
        self._incarnation = output.incarnation
        self._turn_id = output.turn_id
        self._streamed[key] = self._streamed.get(key, "") + output.text
        self._piece(output.text)

    def _text(self, output: Output) -> None:
        shown = self._streamed.pop((output.turn_id, output.round), "")
        if not output.text.startswith(shown):
            self.settle()
            shown = ""
        self._piece(output.text[len(shown) :])
        self.settle()

    def _call(self, output: Output) -> None:
        self.settle()
        self._open_calls += 1
        self._tool_calls += 1
        self._turn_id = output.turn_id
        name = printable(output.tool_name)
        room = max(LEAST_WIDTH, width() - len(name) - 3)
        arguments = printable(shorten(output.arguments, room))
        self.write(self.colour(f"* {name}", 35) + self.dim(f" {arguments}"))

    def _result(self, output: Output) -> None:
        """Outcome, whose it is where several calls run side by side, how long it took, its text."""
        is_alone = self._open_calls <= 1
        self._open_calls = max(0, self._open_calls - 1)
        is_good = output.outcome in _GOOD_OUTCOMES
        facts = [] if is_alone else [printable(output.tool_name)]
        facts += [] if is_good else [output.outcome]
        facts += [took(output.duration_ms / 1000)] if output.duration_ms else []
        about = f"({', '.join(facts)}) " if facts else ""
        mark = self.dim(f"  ok {about}") if is_good else self.colour(f"  failed {about}", 31)
        room = max(LEAST_WIDTH, width() - len(about) - 9)
        first, *rest = first_lines(output.text, RESULT_LINES, room)
        self.write(f"{mark}{self.dim(first)}")
        for line in rest:
            self.write(self.dim(f"     {line}"))

    def _used(self, output: Output) -> None:
        self._usage, self._turn_id = output.usage, output.turn_id

    def _completed(self, output: Output) -> None:
        self.settle()
        word = _ENDS.get(output.outcome, "")
        facts = ""
        if self._turn_id in ("", output.turn_id):  # a slash command ends amid another turn
            facts = ", ".join(self._facts())
            self._begin()
            self._streamed.clear()
            self._open_calls = 0
        line = f"{word} {facts}".strip(" ;")
        self.write(self.dim(f"{line}\n") if line else "")

    def _facts(self) -> list[str]:
        """What the turn took: time, calls, tokens; nothing of a turn not seen from its start."""
        if not self._began_at:
            return []
        took_s = self.gauge.clock() - self._began_at
        if took_s < LEAST_TOLD_S and not self._tool_calls and self._usage is None:
            return []
        facts = [took(took_s)]
        if self._tool_calls:
            facts.append(f"{self._tool_calls} tool call{'s' if self._tool_calls > 1 else ''}")
        usage = self._usage
        if usage is not None and (usage.input_tokens or usage.output_tokens):
            cached = usage.cached_input_tokens
            note = f" ({count(cached)} cached)" if cached else ""
            facts.append(f"{count(usage.input_tokens)} in{note}, {count(usage.output_tokens)} out")
        return facts

    def _error(self, output: Output) -> None:
        self.settle()
        category = f"{output.category}: " if output.category else ""
        reference = f" (reference {output.reference})" if output.reference else ""
        self.write(self.colour(printable(f"[error] {category}{output.text}{reference}"), 31))

    def _title(self, output: Output) -> None:
        if not output.text:  # taken away, as the answer to that says
            return
        self.settle()
        self.write(self.dim(printable(f"[title] {output.text}")))

    def _notice(self, output: Output) -> None:
        self.tell(f"[notice] {output.text}")

    def _retry(self, output: Output) -> None:
        self.settle()
        wait = f" (again in {took(output.duration_ms / 1000)})" if output.duration_ms else ""
        self.write(self.dim(printable(f"[retry] {output.text}{wait}")))

    def _file(self, output: Output) -> None:
        self.settle()
        self.write(self.colour(printable(f"[file] {output.path}"), 34))

    def _compaction(self, output: Output) -> None:
        before, after = count(output.tokens_before), count(output.tokens_after)
        self.tell(f"[compaction] {before} -> {after} tokens, the newest messages stay")

    def _consent(self, output: Output) -> None:
        self.question(question_of(output))

    def question(self, question: Question) -> None:
        """A question to who only watches: what would run, and how it can be answered."""
        self.settle()
        for line in question_lines(question, self, columns=width()):
            self.write(line)
        for line in keyed_options(question, self):
            self.write(line)
        self.write(self.dim(f"  {answer_hint(question.call_id)}"))

    def _consent_over(self, output: Output) -> None:
        self.tell(end_line(output.outcome, output.sender))

    def _child(self, output: Output) -> None:
        self.settle()
        self.write(self.dim(printable(child_line(output))))

    def _job(self, output: Output) -> None:
        self.settle()
        self.write(self.dim(printable(job_line(output))))


def child_line(output: Output) -> str:
    """What became of a child run, in a line."""
    reason = f" ({output.text})" if output.text else ""
    result = f", see {output.path}" if output.path else ""
    return f"[sub-agent] {output.agent or output.run_id}: {output.outcome}{reason}{result}"


_HANDLERS: dict[str, Callable[[Screen, Output], None]] = {
    "text_delta": Screen._delta,
    "text": Screen._text,
    "tool_call": Screen._call,
    "tool_result": Screen._result,
    "usage": Screen._used,
    "turn_completed": Screen._completed,
    "error": Screen._error,
    "title": Screen._title,
    "notice": Screen._notice,
    "retry": Screen._retry,
    "file": Screen._file,
    "compaction": Screen._compaction,
    "consent_request": Screen._consent,
    "consent_update": Screen._consent_over,
    "child": Screen._child,
    "job": Screen._job,
}
