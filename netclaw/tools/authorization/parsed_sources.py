"""Keeps what was parsed: how a text parses depends on nothing but the text.

A call is judged when it is proposed, when it is launched and at its gate; only the first time
costs the start of a parser. Facts of the file system are never kept.
"""

from __future__ import annotations

from collections import OrderedDict

from netclaw.core.authz.facts import ParsedShell
from netclaw.ports.shell_parser import ShellParser

MAX_TEXTS = 64
MAX_CHARS = 8000
"""A longer text is parsed again each time: its tree takes much memory, and it is rare."""


class ParsedSources:
    """A `ShellParser` that remembers the last texts. A text that failed is asked for anew."""

    def __init__(self, parser: ShellParser) -> None:
        self._parser = parser
        self._known: OrderedDict[str, ParsedShell] = OrderedDict()

    async def parse(self, source: str) -> ParsedShell:
        """See `ShellParser`."""
        known = self._known.get(source)
        if known is not None:
            self._known.move_to_end(source)
            return known
        parsed = await self._parser.parse(source)
        if len(source) <= MAX_CHARS and parsed.tree is not None:
            self._known[source] = parsed
            while len(self._known) > MAX_TEXTS:
                self._known.popitem(last=False)
        return parsed
