"""Consent requests as lines of a terminal.

The whole command is shown: nobody can consent to what they cannot see (reference 5).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Protocol

from netclaw.cli.app import printable
from netclaw.cli.chat.questions import Question, is_danger
from netclaw.cli.words import shorten
from netclaw.core.session.consent_events import ConsentOption

MAX_LABEL = 76
COMMAND_INDENT = "    "
WRAPPED_INDENT = "      "
"""A row that goes on with the line above; a line of its own would be another command."""
YELLOW, RED = 33, 31
ENDS = {
    "approved": "allowed",
    "refused": "refused",
    "withdrawn": "withdrawn, nothing is to be decided any more",
}


class Paint(Protocol):
    """The colours of the terminal that is written to, if it has any."""

    def dim(self, text: str) -> str:
        """Text of less weight."""

    def colour(self, text: str, code: int) -> str:
        """Text in one of the terminal's own colours."""


def question_lines(
    question: Question, paint: Paint, *, columns: int, place: str = ""
) -> Iterator[str]:
    """What is asked, without the options; `place` is such as `1 of 2`."""
    head = f"[consent{place and f' {place}'}] {printable(question.tool)} asks for a decision:"
    yield paint.colour(head, YELLOW)
    yield from command_rows(question.display, columns)
    for name, value in _facts(question):
        yield paint.dim(printable(f"  {name}: {value}"))


def command_rows(command: str, columns: int) -> Iterator[str]:
    """A command as it is, each of its lines indented and wrapped to the terminal."""
    for line in printable(command, keep_lines=True).expandtabs(4).split("\n"):
        rows = textwrap.wrap(
            line,
            max(20, columns - len(WRAPPED_INDENT)),
            replace_whitespace=False,
            drop_whitespace=False,
            break_on_hyphens=False,
        )
        first, *rest = rows or [""]
        yield f"{COMMAND_INDENT}{first}"
        yield from (f"{WRAPPED_INDENT}{row}" for row in rest)


def _facts(question: Question) -> Iterator[tuple[str, str]]:
    if question.cwd:
        yield "in", question.cwd
    for phrase in question.candidates:
        yield "not allowed yet", phrase
    if question.run_id:
        yield "asked by sub-agent run", question.run_id
    if question.requester:
        yield "asked for", question.requester
    if question.speakers:
        yield "the turn was also shown words of", ", ".join(question.speakers)


def lettered_options(question: Question, paint: Paint) -> Iterator[str]:
    """The options to choose from, by letter."""
    for letter, option in question.lettered():
        yield _option(option, f"  {letter}  ", paint)


def keyed_options(question: Question, paint: Paint) -> Iterator[str]:
    """The options to choose from, by the key that a command takes."""
    room = max((len(option.key) for option in question.options), default=0)
    for option in question.options:
        yield _option(option, f"  {printable(option.key):<{room}}  ", paint)


def _option(option: ConsentOption, mark: str, paint: Paint) -> str:
    line = f"{mark}{printable(shorten(option.label, MAX_LABEL))}"
    return paint.colour(line, RED) if is_danger(option) else line


def answer_hint(call_id: str) -> str:
    """How somebody who only watches can answer."""
    return f"answer with: netclaw approvals answer {printable(call_id)} KEY"


def refuse_hint(call_id: str, key: str) -> str:
    """How the operator refuses what somebody else was asked (decision 48)."""
    return f"you may refuse it: netclaw approvals answer {printable(call_id)} {printable(key)}"


def end_line(outcome: str, answerer: str, what: str = "") -> str:
    """How a request ended; `what` is the command or the tool."""
    by = f" by {answerer}" if answerer else ""
    about = f": {what}" if what else ""
    return printable(f"[consent] {ENDS.get(outcome, outcome)}{by}{about}")
