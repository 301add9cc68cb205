"""Cuts a streamed text into blocks that are settled and one that still grows.

A block ends at a blank line outside a code fence, so that each settled one can be rendered as
Markdown by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_FENCES = ("```", "~~~")


@dataclass(slots=True)
class BlockStream:
    """Feeds on pieces of text; hands out finished blocks."""

    _pending: str = ""
    _lines: list[str] = field(default_factory=list)
    _fence: str = ""

    def feed(self, piece: str) -> list[str]:
        """Take a piece in; returns the blocks that it finished."""
        self._pending += piece
        *lines, self._pending = self._pending.split("\n")
        done = []
        for line in lines:
            block = self._line(line)
            if block:
                done.append(block)
        return done

    def end(self) -> str:
        """The rest as a last block, empty if there is none; begins anew."""
        if self._pending:
            self._lines.append(self._pending)
        block = "\n".join(self._lines).strip("\n")
        self._pending, self._lines, self._fence = "", [], ""
        return block

    @property
    def growing(self) -> str:
        """What is not settled yet."""
        return "\n".join([*self._lines, self._pending])

    def _line(self, line: str) -> str:
        stripped = line.strip()
        if self._fence:
            if stripped.startswith(self._fence):
                self._fence = ""
        elif stripped.startswith(_FENCES):
            self._fence = stripped[:3]
        if stripped or self._fence:
            self._lines.append(line)
            return ""
        block = "\n".join(self._lines)
        self._lines = []
        return block
