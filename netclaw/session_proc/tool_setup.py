"""Makes the tools of a session from what its Welcome says of the sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netclaw.ports.tool import ToolRunner
from netclaw.ports.tool_servers import ToolServers
from netclaw.sandbox.path_facts import HostPaths
from netclaw.sandbox.runner import SandboxRunner
from netclaw.sandbox.shell_parser import ShfmtParser
from netclaw.tools.authorization.parsed_sources import ParsedSources
from netclaw.tools.authorization.subjects import FactSources
from netclaw.tools.factory import Delegation, make_tool_runner
from netclaw.tools.git_inspection import GitInspection
from netclaw.wire.journal_codec import decode_settings
from netclaw.wire.sandbox_facts import decode_facts
from netclaw.wire.v1.session_host_pb2 import Welcome

if TYPE_CHECKING:
    from netclaw.mcp.link import ToolServerLink


def make_tools(welcome: Welcome, servers: ToolServers | None = None) -> ToolRunner:
    """The dispatcher of this process, over the sandbox that was proved on this machine."""
    facts = decode_facts(welcome.sandbox)
    return make_tool_runner(
        facts,
        SandboxRunner(facts),
        host_sources(),
        servers=servers,
        delegation=_delegation(welcome),
    )


def _delegation(welcome: Welcome) -> Delegation:
    if welcome.HasField("child"):
        return Delegation.OWN_RUN
    is_offered = decode_settings(welcome.settings).are_agents_offered
    return Delegation.OFFERED if is_offered else Delegation.NONE


def make_servers(welcome: Welcome) -> ToolServerLink | None:
    """The way to the configured tool servers, None if there is none that can be used.

    Nothing is started before a call or a search needs it.
    """
    configured = decode_settings(welcome.settings).tools.servers
    if not any(server.is_usable for server in configured):
        return None
    from netclaw.mcp.link import ToolServerLink

    return ToolServerLink(configured, credentials=dict(welcome.credentials))


def host_sources() -> FactSources:
    """Where the facts of this host come from."""
    return FactSources(parser=ParsedSources(ShfmtParser()), paths=HostPaths())


def make_git_inspection(welcome: Welcome) -> GitInspection:
    """What looks at the Git repository of a project, in the same sandbox."""
    facts = decode_facts(welcome.sandbox)
    return GitInspection(facts, SandboxRunner(facts))
