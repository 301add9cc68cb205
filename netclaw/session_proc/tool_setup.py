"""Makes the tools of a session from what its Welcome says of the sandbox."""

from __future__ import annotations

from netclaw.ports.tool import ToolRunner
from netclaw.sandbox.runner import SandboxRunner
from netclaw.tools.factory import make_tool_runner
from netclaw.tools.git_inspection import GitInspection
from netclaw.wire.sandbox_facts import decode_facts
from netclaw.wire.v1.session_host_pb2 import Welcome


def make_tools(welcome: Welcome) -> ToolRunner:
    """The dispatcher of this process, over the sandbox that was proved on this machine."""
    facts = decode_facts(welcome.sandbox)
    return make_tool_runner(facts, SandboxRunner(facts))


def make_git_inspection(welcome: Welcome) -> GitInspection:
    """What looks at the Git repository of a project, in the same sandbox."""
    facts = decode_facts(welcome.sandbox)
    return GitInspection(facts, SandboxRunner(facts))
