"""Where the facts of a shell command come from: two parsers and the file system."""

from __future__ import annotations

from typing import Protocol

from netclaw.core.authz.facts import ParsedShell, PathFact, RepositoryFact


class ShellParser(Protocol):
    """Parses command text; never runs any of it."""

    async def parse(self, source: str) -> ParsedShell:
        """The proved tree, or none, and everything that looks like a command.

        `source` passed `netclaw.core.authz.text_gate`. Raises `ShellParserError` when the parser
        itself fails: then nothing is known of the text and the call is denied.
        """


class PathFacts(Protocol):
    """Looks at paths; follows links, opens nothing, never raises for what is there."""

    def path(self, path: str) -> PathFact:
        """The facts of one absolute path, as it was written."""

    def repository(self, folder: str) -> RepositoryFact | None:
        """The Git repository around a folder; None if there is none that can be believed."""


class ShellParserError(Exception):
    """The parser could not be run."""
