"""Puts the dispatcher of a session process together."""

from __future__ import annotations

from netclaw.ports.shell_runner import SandboxFacts, ShellRunner
from netclaw.ports.tool import ToolRunner
from netclaw.tools.dispatcher import Dispatcher
from netclaw.tools.registry import Registry
from netclaw.tools.shell_execute import ShellExecute


def make_tool_runner(facts: SandboxFacts, shell: ShellRunner) -> ToolRunner:
    """All core tools. `shell` runs commands as `facts` say; the session process brings it,
    because tools reach the sandbox through its port only.
    """
    return Dispatcher(Registry([ShellExecute(shell)], facts), facts)
