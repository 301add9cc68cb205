"""Says which tools exist for a turn: what policy would refuse anyhow is not shown (decision 42).

Showing a tool grants nothing; every call of it is judged.
"""

from __future__ import annotations

from netclaw.core.authority import Audience
from netclaw.core.authz.consent_modes import ModeQuestion, UnknownModeError, mode_of
from netclaw.core.authz.path_access import FileMode
from netclaw.core.authz.profiles import SHELL_TOOLS, AudienceProfile, ConsentMode
from netclaw.core.settings import ShellMode, ToolSettings
from netclaw.core.tool_call import FileOperation
from netclaw.ports.shell_runner import SandboxFacts
from netclaw.tools.authorization.subjects import FILE_OPERATIONS
from netclaw.tools.tool import OfServer, Tool


def is_visible(
    tool: Tool, audience: Audience, settings: ToolSettings, sandbox: SandboxFacts
) -> bool:
    """Whether a turn of this audience has the tool."""
    if audience not in tool.audiences:
        return False
    profile = settings.profile_of(audience)
    if _is_switched_off(tool, profile):
        return False
    if isinstance(tool, OfServer):
        return profile.allows_server(tool.server) and profile.allows_server_tool(
            tool.server, tool.server_tool
        )
    if not profile.allows_tool(tool.name) or not _has_files(tool, profile):
        return False
    return tool.name not in SHELL_TOOLS or _has_shell(audience, settings.shell_mode, sandbox)


def _is_switched_off(tool: Tool, profile: AudienceProfile) -> bool:
    server = tool.server if isinstance(tool, OfServer) else ""
    name = tool.server_tool if isinstance(tool, OfServer) else tool.name
    try:
        return mode_of(profile, ModeQuestion(tool=name, server=server)) is ConsentMode.DENY
    except UnknownModeError:
        return True


def _has_files(tool: Tool, profile: AudienceProfile) -> bool:
    rules = {
        FileOperation.READ: profile.read,
        FileOperation.WRITE: profile.write,
        FileOperation.ATTACH: profile.attach,
        FileOperation.DECLARE_PROJECT_SCOPE: profile.read,
    }
    operation = FILE_OPERATIONS.get(tool.name)
    return operation is None or rules[operation].mode is not FileMode.NONE


def _has_shell(audience: Audience, mode: ShellMode, sandbox: SandboxFacts) -> bool:
    if audience is not Audience.PERSONAL or mode is ShellMode.OFF:
        return False
    return mode is ShellMode.HOST_ALLOWED or sandbox.backend is not None


def may_have_server(server: str, profile: AudienceProfile) -> bool:
    """Whether an audience may have any tool of a server, as far as that can be told by its name."""
    listed = profile.server_tools.get(server)
    if not profile.allows_server(server) or (listed is not None and not listed):
        return False
    spellings = (f"mcp:{server}:", f"{server}__", f"{server}/")
    if any(name.startswith(spellings) for name in profile.consent.tools):
        return True
    try:
        return mode_of(profile, ModeQuestion(tool="", server=server)) is not ConsentMode.DENY
    except UnknownModeError:
        return False
