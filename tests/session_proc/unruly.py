"""A session process for tests whose tools misbehave: one blocks the loop, one eats memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

from netclaw.core.authority import Authority
from netclaw.core.exit_codes import ExitCode
from netclaw.core.session.rulings import ALLOWED, CallRuling
from netclaw.core.settings import ToolSettings
from netclaw.core.tool_call import ToolCall, ToolDefinition, ToolResult
from netclaw.ports.spawner import Bootstrap
from netclaw.ports.tool import GivenConsent, ToolContext
from netclaw.session_proc.main import serve
from netclaw.session_proc.process_setup import set_up_process

ENTRY = "tests.session_proc.unruly:run"
WARM = "netclaw.session_proc.main:warm"
_MIB = 1024 * 1024


class UnrulyTools:
    """`hang` never gives the loop back, `hoard` takes memory until it is ended."""

    async def recall(self, loaded: tuple[str, ...]) -> None:
        """Nothing is ever loaded."""

    def definitions(
        self, authority: Authority, settings: ToolSettings, loaded: tuple[str, ...] = ()
    ) -> tuple[ToolDefinition, ...]:
        """Both tools."""
        del authority, settings, loaded
        return tuple(
            ToolDefinition(name=name, description=name, parameters='{"type":"object"}')
            for name in ("hang", "hoard")
        )

    def native(self, authority: Authority, settings: ToolSettings) -> tuple[str, ...]:
        """All of them are netclaw's own."""
        return tuple(tool.name for tool in self.definitions(authority, settings))

    def restrict(self, names: Iterable[str]) -> None:
        """Runs of these tests have all of them."""

    async def judge(
        self, call: ToolCall, context: ToolContext, *, given: GivenConsent | None = None
    ) -> CallRuling:
        """Anything may run."""
        del call, context, given
        return ALLOWED

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Misbehave."""
        del context
        if call.name == "hang":
            hang_here()
        hoard: list[bytearray] = []
        while True:
            hoard.append(bytearray(_MIB))


def hang_here() -> None:
    """Block the event loop for good; the name is looked for in the stack dump."""
    threading.Event().wait()


def run(bootstrap: Bootstrap) -> int:
    """What `run_session` does, with these tools."""
    if not set_up_process(bootstrap):
        return int(ExitCode.STREAM_LOST)
    loop = asyncio.new_event_loop()
    return int(loop.run_until_complete(serve(bootstrap, tools=UnrulyTools())))
