"""Values of parameters that several commands share."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from netclaw.cli.completions import session_ids

FILTER_WORDS = {
    "text": 1,
    "text-streaming": 2,
    "thinking": 4,
    "tool-calls": 8,
    "usage": 16,
    "files": 32,
    "processing-state": 64,
}


class Count(click.ParamType[int]):
    """A whole number up to a limit that nobody meets, and that help therefore leaves out."""

    name = "n"

    def __init__(self, highest: int, *, lowest: int = 0) -> None:
        self._range = click.IntRange(lowest, highest)

    def convert(self, value: int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number. Fails as click does, naming the limits."""
        number: int = self._range.convert(value, param, ctx)
        return number


SEQ = Count(2**63 - 1)
"""A position in a journal; SQLite and the protocol hold no larger one."""
ROWS = Count(2**32 - 1)
"""A number of rows, 0 for all; the protocol holds no larger one."""


class OutputFilter(click.ParamType[int]):
    """Words with commas between them, as the bits of an output filter."""

    name = "words"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """The bits. Fails on a word that is none of them."""
        if isinstance(value, int):
            return value
        bits = 0
        for word in value.split(","):
            bit = FILTER_WORDS.get(word.strip().lower())
            if bit is None:
                words = ",".join(FILTER_WORDS)
                self.fail(f"{word.strip()!r} is no filter; use some of {words}", param, ctx)
            bits |= bit
        return bits

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The words that may follow those that stand there already."""
        del ctx, param
        before, comma, begun = incomplete.rpartition(",")
        used = before.split(",")
        return [
            CompletionItem(f"{before}{comma}{word}")
            for word in FILTER_WORDS
            if word.startswith(begun) and word not in used
        ]


OUTPUT_FILTER = OutputFilter()


of_session = click.option(
    "--session",
    "session_id",
    metavar="ID",
    default="",
    shell_complete=session_ids,
    help="Only those of one session.",
)
"""The option of every list that can be narrowed to one session."""
