"""Keeps what was parsed: how a text parses depends on nothing but the text.

A call is judged when it is proposed, when it is launched and at its gate; only the first time
costs the start of a parser. Facts of the file system are never kept.
"""

from __future__ import annotations

from collections import OrderedDict

from netclaw.core.authz.facts import ParsedShell
from netclaw.ports.shell_parser import ShellParser

MAX_CHARS = 20_000
"""Of all texts together: a tree takes some hundred times the memory of its text."""


class ParsedSources:
    """A `ShellParser` that remembers the last texts.

    One that is not accepted, or larger than all that is kept, is asked for anew each time.
    """

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
        if parsed.tree is not None:
            self._known[source] = parsed
            while sum(map(len, self._known)) > MAX_CHARS:
                self._known.popitem(last=False)
        return parsed
