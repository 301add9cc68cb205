"""Makes the tools of a session from what its Welcome says of the sandbox."""

from __future__ import annotations

from netclaw.core.authority import Authority
from netclaw.core.settings import ToolSettings
from netclaw.core.tool_call import (
    OutcomeCategory,
    ToolCall,
    ToolDefinition,
    ToolReceipt,
    ToolResult,
)
from netclaw.ports.tool import ToolContext, ToolRunner
from netclaw.wire.v1.session_host_pb2 import Welcome


class _NoTools:
    def definitions(
        self, authority: Authority, settings: ToolSettings
    ) -> tuple[ToolDefinition, ...]:
        del authority, settings
        return ()

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        del context
        return ToolResult(
            call_id=call.call_id,
            text="There is no such tool.",
            receipt=ToolReceipt(category=OutcomeCategory.NOT_FOUND),
        )


def make_tools(welcome: Welcome) -> ToolRunner:
    """The dispatcher of this process."""
    del welcome
    return _NoTools()
