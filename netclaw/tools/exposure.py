"""`search_tools` and `load_tool`: how a model comes to see tools that are not shown at first.

Both look only at what policy lets this conversation have. A tool that policy hides is answered
exactly like one that does not exist, and a load grants nothing: the tool's calls are judged like
any other's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from netclaw.core.session.exposure import LEASE_TURNS, MAX_LEASES
from netclaw.core.tool_call import ToolDefinition
from netclaw.ports.tool import ToolContext
from netclaw.tools.faults import ToolFault
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.tool import EVERYONE, Outcome, Scope

SEARCH, LOAD = "search_tools", "load_tool"
MAX_FOUND = 12
SUMMARY_CHARS = 200
NAME_WEIGHT = 4
_WORD = re.compile(r"[^\W_]+")


class DeferredTools(Protocol):
    """What the two tools know of the others."""

    async def refresh(self) -> None:
        """Learn what there is now; takes a bounded time."""

    def deferred(self, context: ToolContext) -> Sequence[ToolDefinition]:
        """The deferred tools that this conversation may have, loaded or not."""

    def unanswered(self, context: ToolContext) -> Sequence[str]:
        """Servers whose tools this conversation might have, had they answered."""


class SearchTools:
    """Finds deferred tools by words."""

    name = SEARCH
    description = (
        "Finds further tools by words of what they do. Load one with load_tool before calling it."
    )
    audiences = EVERYONE
    fields: tuple[Field, ...] = (
        Field(
            name="query",
            kind=Kind.STRING,
            description="Words that say what the tool should do.",
            is_required=True,
            max_chars=400,
        ),
    )

    def __init__(self, tools: DeferredTools) -> None:
        self._tools = tools

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        await self._tools.refresh()
        found = matching(arguments.text("query"), self._tools.deferred(scope.context))
        lines = [f"{item.name}: {_summary(item.description)}" for item in found[:MAX_FOUND]]
        if not lines:
            lines = ["No tool matches. Try other words."]
        elif len(found) > MAX_FOUND:
            lines.append(f"{len(found) - MAX_FOUND} more match; say more exactly what you need.")
        silent = self._tools.unanswered(scope.context)
        if silent:
            lines.append(f"These tool servers did not answer: {', '.join(silent)}.")
        return Outcome(text="\n".join(lines))


class LoadTool:
    """Lets later model requests show a deferred tool."""

    name = LOAD
    description = (
        "Shows you a tool that search_tools found, from your next message on and for"
        f" {LEASE_TURNS} turns from the one of its last use; at most {MAX_LEASES} at a time."
    )
    audiences = EVERYONE
    fields: tuple[Field, ...] = (
        Field(
            name="name",
            kind=Kind.STRING,
            description="The tool's exact name.",
            is_required=True,
            max_chars=200,
        ),
    )

    def __init__(self, tools: DeferredTools) -> None:
        self._tools = tools

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        name = arguments.text("name")
        await self._tools.refresh()
        if all(item.name != name for item in self._tools.deferred(scope.context)):
            raise ToolFault.missing(
                f"There is no such tool to load. {SEARCH} finds those that there are."
            )
        return Outcome(
            text=f"Loaded. {name} can be called from your next message on.", loaded_tool=name
        )


def matching(query: str, tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
    """The tools that have any of the words, the best first; equal ones keep their order."""
    words = _words(query)
    scored = [(_score(words, tool), tool) for tool in tools]
    found = [item for item in scored if item[0]]
    found.sort(key=lambda item: -item[0])
    return [tool for _, tool in found]


def _score(words: frozenset[str], tool: ToolDefinition) -> int:
    in_name = sum(word in tool.name.casefold() for word in words)
    return NAME_WEIGHT * in_name + len(words & _words(tool.description))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _summary(description: str) -> str:
    line = " ".join(description.split())
    return line if len(line) <= SUMMARY_CHARS else f"{line[: SUMMARY_CHARS - 1]}…"
