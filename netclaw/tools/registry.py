"""The set of tools, in the one order in which models are shown them."""

from __future__ import annotations

from collections.abc import Iterable

from netclaw.core.authority import Authority
from netclaw.core.settings import ToolSettings
from netclaw.core.tool_call import ToolDefinition
from netclaw.ports.shell_runner import SandboxFacts
from netclaw.tools.authorization.visibility import is_visible
from netclaw.tools.schema import schema_text
from netclaw.tools.tool import Tool


class Registry:
    """Tools by name, in the order of registration: an order that changes costs a model's cache."""

    def __init__(self, tools: Iterable[Tool], facts: SandboxFacts) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._facts = facts
        self._definitions = {
            tool.name: ToolDefinition(
                name=tool.name, description=tool.description, parameters=schema_text(tool.fields)
            )
            for tool in self._tools.values()
        }

    def find(self, name: str) -> Tool | None:
        """The tool of exactly this name."""
        return self._tools.get(name)

    def visible(self, authority: Authority, settings: ToolSettings) -> tuple[ToolDefinition, ...]:
        """What a turn's model is shown: exactly the tools it could be allowed to call."""
        return tuple(
            self._definitions[tool.name]
            for tool in self._tools.values()
            if is_visible(tool, authority.requester.audience, settings, self._facts)
        )
