"""Puts the dispatcher of a session process together."""

from __future__ import annotations

from enum import Enum, auto

from netclaw.ports.shell_runner import SandboxFacts, ShellRunner
from netclaw.ports.tool import ToolRunner
from netclaw.ports.tool_servers import ToolServers
from netclaw.tools.attach_file import AttachFile
from netclaw.tools.authorization.subjects import FactSources
from netclaw.tools.channel_tools import (
    LookupChannelDestination,
    LookupChannelUser,
    SendChannelMessage,
)
from netclaw.tools.check_agent_run import CheckAgentRun
from netclaw.tools.check_background_job import CheckBackgroundJob
from netclaw.tools.dispatcher import Dispatcher
from netclaw.tools.exposure import LoadTool, SearchTools
from netclaw.tools.file_edit import FileEdit
from netclaw.tools.file_list import FileList
from netclaw.tools.file_read import FileRead
from netclaw.tools.file_search import FileSearch
from netclaw.tools.file_write import FileWrite
from netclaw.tools.goals import CreateGoal, GetGoal, UpdateGoal
from netclaw.tools.registry import Registry
from netclaw.tools.server_tools import ServerTools
from netclaw.tools.session_status import SessionStatus
from netclaw.tools.sessions_history import SessionsHistory
from netclaw.tools.sessions_list import SessionsList
from netclaw.tools.sessions_send import SessionsSend
from netclaw.tools.set_working_directory import SetWorkingDirectory
from netclaw.tools.shell_execute import ShellExecute
from netclaw.tools.spawn_agent import SpawnAgent
from netclaw.tools.tool import Tool
from netclaw.tools.tool_output_read import ToolOutputRead


class Delegation(Enum):
    """What a session has to do with child runs (S0 Sub-agents)."""

    OFFERED = auto()
    """It may start them."""
    NONE = auto()
    """It starts none."""
    OWN_RUN = auto()
    """It is one: it starts none and gives nothing to people."""


_OF_CONVERSATIONS = frozenset({AttachFile.name})
"""Not for a run, which never talks to people."""


def make_tool_runner(
    facts: SandboxFacts,
    shell: ShellRunner,
    sources: FactSources,
    *,
    servers: ToolServers | None = None,
    delegation: Delegation = Delegation.NONE,
) -> ToolRunner:
    """All of netclaw's tools, and those of `servers`. `shell` runs commands as `facts` say, and
    `sources` look at the host; the session process brings all three, because tools reach them by
    ports only.
    """
    served = ServerTools(servers) if servers is not None else None
    registry = Registry(
        core_tools(shell, delegation), facts, deferred=deferred_tools(delegation), servers=served
    )
    registry.add(SearchTools(registry), LoadTool(registry))
    return Dispatcher(registry, facts, sources)


def core_tools(shell: ShellRunner, delegation: Delegation = Delegation.NONE) -> list[Tool]:
    """The tools that a session has, in the order in which models are shown them."""
    tools = _common_tools(shell)
    if delegation is Delegation.OWN_RUN:
        return [tool for tool in tools if tool.name not in _OF_CONVERSATIONS]
    return tools


def deferred_tools(delegation: Delegation) -> list[Tool]:
    """Tools of ours that a model loads before it calls them."""
    agents: list[Tool] = [SpawnAgent(), CheckAgentRun()] if delegation is Delegation.OFFERED else []
    if delegation is Delegation.OWN_RUN:
        return _session_tools()
    return [*agents, *_session_tools(), *_channel_tools()]


def _channel_tools() -> list[Tool]:
    return [SendChannelMessage(), LookupChannelUser(), LookupChannelDestination()]


def _session_tools() -> list[Tool]:
    return [
        SessionsList(),
        SessionsHistory(),
        SessionsSend(),
        GetGoal(),
        CreateGoal(),
        UpdateGoal(),
    ]


def _common_tools(shell: ShellRunner) -> list[Tool]:
    return [
        SetWorkingDirectory(),
        FileSearch(),
        FileRead(),
        FileList(),
        FileWrite(),
        FileEdit(),
        AttachFile(),
        ToolOutputRead(),
        ShellExecute(shell),
        CheckBackgroundJob(),
        SessionStatus(),
    ]
