"""Puts the dispatcher of a session process together."""

from __future__ import annotations

from netclaw.ports.shell_runner import SandboxFacts, ShellRunner
from netclaw.ports.tool import ToolRunner
from netclaw.ports.tool_servers import ToolServers
from netclaw.tools.attach_file import AttachFile
from netclaw.tools.authorization.subjects import FactSources
from netclaw.tools.check_background_job import CheckBackgroundJob
from netclaw.tools.dispatcher import Dispatcher
from netclaw.tools.exposure import LoadTool, SearchTools
from netclaw.tools.file_edit import FileEdit
from netclaw.tools.file_list import FileList
from netclaw.tools.file_read import FileRead
from netclaw.tools.file_search import FileSearch
from netclaw.tools.file_write import FileWrite
from netclaw.tools.registry import Registry
from netclaw.tools.server_tools import ServerTools
from netclaw.tools.session_status import SessionStatus
from netclaw.tools.set_working_directory import SetWorkingDirectory
from netclaw.tools.shell_execute import ShellExecute
from netclaw.tools.tool import Tool
from netclaw.tools.tool_output_read import ToolOutputRead


def make_tool_runner(
    facts: SandboxFacts,
    shell: ShellRunner,
    sources: FactSources,
    *,
    servers: ToolServers | None = None,
) -> ToolRunner:
    """All core tools, and those of `servers`. `shell` runs commands as `facts` say, and `sources`
    look at the host; the session process brings all three, because tools reach them by ports only.
    """
    served = ServerTools(servers) if servers is not None else None
    registry = Registry(core_tools(shell), facts, servers=served)
    registry.add(SearchTools(registry), LoadTool(registry))
    return Dispatcher(registry, facts, sources)


def core_tools(shell: ShellRunner) -> list[Tool]:
    """The tools that every session has, in the order in which models are shown them."""
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
