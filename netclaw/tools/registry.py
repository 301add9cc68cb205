"""The set of tools, in the one order in which models are shown them.

Core tools come first, always in the order of their registration; loaded ones follow in the order
of their loading. So a load changes nothing before it, and a model's cache keeps its worth.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from netclaw.core.authority import Authority
from netclaw.core.settings import ToolSettings
from netclaw.core.tool_call import ToolDefinition
from netclaw.ports.shell_runner import SandboxFacts
from netclaw.ports.tool import ToolContext
from netclaw.tools.authorization.visibility import is_visible, may_have_server
from netclaw.tools.exposure import LOAD, SEARCH
from netclaw.tools.schema import schema_text
from netclaw.tools.server_tools import McpTool, ServerTools
from netclaw.tools.tool import Tool

_log = logging.getLogger(__name__)

_EXPOSURE = frozenset({SEARCH, LOAD})

RECALL_S = 12.0
"""How long a model call waits for servers whose tools were loaded in an earlier process."""


class Registry:
    """Core tools, and the deferred ones of ours and of servers, by name."""

    def __init__(
        self,
        tools: Iterable[Tool],
        facts: SandboxFacts,
        *,
        deferred: Iterable[Tool] = (),
        servers: ServerTools | None = None,
    ) -> None:
        self._core = {tool.name: tool for tool in tools}
        self._deferred = {tool.name: tool for tool in deferred}
        self._servers = servers
        self._facts = facts
        self._definitions: dict[str, tuple[Tool, ToolDefinition]] = {}
        self._refreshing: asyncio.Task[None] | None = None

    def add(self, *tools: Tool) -> None:
        """Add core tools that need the registry itself."""
        self._core |= {tool.name: tool for tool in tools}

    def restrict(self, names: Iterable[str]) -> None:
        """See `ToolRunner`. Without `load_tool` among the names no tool of a server is found."""
        kept = frozenset(names)
        self._core = {name: tool for name, tool in self._core.items() if name in kept}
        self._deferred = {name: tool for name, tool in self._deferred.items() if name in kept}
        if LOAD not in kept:
            self._servers = None

    def own(self, authority: Authority, settings: ToolSettings) -> tuple[str, ...]:
        """See `ToolRunner.native`."""
        shown = self.visible(authority, settings, tuple(self._deferred))
        return self.native(tool.name for tool in shown)

    def native(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the names that are tools of netclaw's own."""
        return tuple(name for name in names if name in self._core or name in self._deferred)

    def find(self, name: str) -> Tool | None:
        """The tool of exactly this name, whether or not anybody sees it."""
        return self._core.get(name) or self._late.get(name)

    def visible(
        self, authority: Authority, settings: ToolSettings, loaded: Sequence[str] = ()
    ) -> tuple[ToolDefinition, ...]:
        """What a turn's model is shown: of the tools it could be allowed to call, the core ones
        and those that were loaded.
        """
        late = self._late
        core = [tool for tool in self._core.values() if self._is_open(tool, authority, settings)]
        if not self._has_any(authority, settings):
            core = [tool for tool in core if tool.name not in _EXPOSURE]
        found = [late[name] for name in loaded if name in late]
        shown = [tool for tool in found if self._is_open(tool, authority, settings)]
        return tuple(map(self._definition, (*core, *shown)))

    async def recall(self, loaded: Sequence[str], *, patience_s: float = RECALL_S) -> None:
        """Learn of loaded tools that this process does not know yet; waits a bounded time."""
        if self._servers is not None and self._servers.names:
            known = self._late
            if any(name not in known for name in loaded):
                with suppress(TimeoutError):
                    async with asyncio.timeout(patience_s):
                        await self.refresh()

    async def refresh(self) -> None:
        """See `DeferredTools`."""
        if self._servers is None:
            return
        if self._refreshing is None or self._refreshing.done():
            # A task of its own: servers that are being connected are not given up with a caller.
            self._refreshing = asyncio.create_task(_ask(self._servers), name="tool servers")
        await asyncio.shield(self._refreshing)

    def deferred(self, context: ToolContext) -> tuple[ToolDefinition, ...]:
        """See `DeferredTools`."""
        return tuple(
            self._definition(tool)
            for tool in self._late.values()
            if self._is_open(tool, context.authority, context.settings)
        )

    def unanswered(self, context: ToolContext) -> tuple[str, ...]:
        """See `DeferredTools`."""
        return tuple(
            server
            for server in self._allowed_servers(context.authority, context.settings)
            if self._servers is not None and not self._servers.is_listed(server)
        )

    @property
    def _late(self) -> dict[str, Tool]:
        served = self._servers.tools if self._servers is not None else {}
        return {**self._deferred, **served}

    def _is_open(self, tool: Tool, authority: Authority, settings: ToolSettings) -> bool:
        return is_visible(tool, authority.requester.audience, settings, self._facts)

    def _has_any(self, authority: Authority, settings: ToolSettings) -> bool:
        """Whether there is a deferred tool to find, or a server that was not asked yet."""
        if any(self._is_open(tool, authority, settings) for tool in self._late.values()):
            return True
        return any(
            self._servers is not None and not self._servers.is_listed(server)
            for server in self._allowed_servers(authority, settings)
        )

    def _allowed_servers(self, authority: Authority, settings: ToolSettings) -> Iterator[str]:
        names = self._servers.names if self._servers is not None else ()
        profile = settings.profile_of(authority.requester.audience)
        return (name for name in names if may_have_server(name, profile))

    def _definition(self, tool: Tool) -> ToolDefinition:
        known = self._definitions.get(tool.name)
        if known is not None and known[0] is tool:
            return known[1]
        text = tool.parameters if isinstance(tool, McpTool) else schema_text(tool.fields)
        made = ToolDefinition(name=tool.name, description=tool.description, parameters=text)
        self._definitions[tool.name] = (tool, made)
        return made


async def _ask(servers: ServerTools) -> None:
    """Learn what the servers have. Perhaps nobody waits for it any more, so nothing is raised."""
    try:
        await servers.refresh()
    except Exception as fault:  # noqa: BLE001 - without a catalogue there are no tools, that is all
        _log.warning("the tool servers could not be asked (%s)", type(fault).__name__)
