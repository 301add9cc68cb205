"""Decides whether a tool exists for a turn and whether a call of it may run.

This is the small, safe table of the foundation: shell for the operator's audience only and only
confined (or unconfined where the operator configured that in so many words), reading for
everybody, writing not for Public. Anything unknown is denied (decision 39).
"""

from __future__ import annotations

from netclaw.core.authority import Authority
from netclaw.core.settings import ShellMode, ToolSettings
from netclaw.ports.shell_runner import SandboxFacts
from netclaw.tools.faults import ToolFault
from netclaw.tools.tool import Tool

SHELL = "shell_execute"


def refusal(tool: Tool, authority: Authority, settings: ToolSettings, facts: SandboxFacts) -> str:
    """Why this turn may not use the tool, as a sentence; empty if it may."""
    if authority.requester.audience not in tool.audiences:
        return f"The tool {tool.name} is not available in this conversation."
    if tool.name != SHELL or settings.shell_mode is ShellMode.HOST_ALLOWED:
        return ""
    if settings.shell_mode is not ShellMode.SANDBOX_ONLY:
        return "Shell commands are switched off here."
    if facts.backend is None:
        return "Shell commands are refused: no sandbox works on this machine."
    return ""


def require(tool: Tool, authority: Authority, settings: ToolSettings, facts: SandboxFacts) -> None:
    """Raises `ToolFault` unless the call may run."""
    sentence = refusal(tool, authority, settings, facts)
    if sentence:
        raise ToolFault.denied(sentence)
