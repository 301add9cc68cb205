"""Gathers what an analysis finds and what it has to ask, across nested texts."""

from __future__ import annotations

from netclaw.core.authz.facts import (
    Candidate,
    Invocation,
    Knowledge,
    Needs,
    ParsedShell,
    PathFact,
    ShellFacts,
    Surroundings,
)

MAX_PATHS = 600
"""Questions about paths in one command; more words than this are not judged one by one."""

MAX_CANDIDATES = 400


class Collector:
    """One per run of an analysis; it answers from what is known and notes what is not."""

    def __init__(self, surroundings: Surroundings, knowledge: Knowledge) -> None:
        self.surroundings = surroundings
        self._knowledge = knowledge
        self._sources: set[str] = set()
        self._paths: set[str] = set()
        self._asked: set[str] = set()
        self.candidates: list[Candidate] = []
        self.invocations: list[Invocation] = []
        self.mentions: list[str] = []
        self.directories: dict[str, None] = {}
        self.has_too_many_values = False
        self.is_parsed = True
        self.is_too_long = False

    def parsed(self, source: str) -> ParsedShell | None:
        """How a text parses; None if that is not known yet."""
        found = self._knowledge.sources.get(source)
        if found is None:
            self._sources.add(source)
        return found

    def path(self, path: str) -> PathFact | None:
        """What the host says of a path; None if that is not known yet, or too much was asked."""
        found = self._knowledge.paths.get(path)
        if found is None and path not in self._asked:
            if len(self._asked) + len(self._knowledge.paths) >= MAX_PATHS:
                self.has_too_many_values = True
                return None
            self._asked.add(path)
            self._paths.add(path)
        return found

    def add(self, candidate: Candidate) -> None:
        """One more command occurrence that needs coverage."""
        if len(self.candidates) >= MAX_CANDIDATES:
            self.has_too_many_values = True
            return
        self.candidates.append(candidate)

    def needs(self) -> Needs:
        """What has to be fetched before the facts are complete."""
        return Needs(sources=frozenset(self._sources), paths=frozenset(self._paths))

    def facts(self, source: str) -> ShellFacts:
        """What was found."""
        return ShellFacts(
            source=source,
            candidates=tuple(self.candidates),
            invocations=tuple(self.invocations),
            mentions=tuple(dict.fromkeys(self.mentions)),
            directories=tuple(self.directories),
            has_too_many_values=self.has_too_many_values,
            is_parsed=self.is_parsed,
            is_too_long=self.is_too_long,
        )
