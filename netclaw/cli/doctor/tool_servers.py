"""Checks the tool servers: each that is not switched off is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netclaw.cli.doctor.findings import Finding, passed, warned
from netclaw.cli.words import counted

if TYPE_CHECKING:
    from netclaw.config.loaded import LoadedConfig

NAME = "tool server"
FIX = "`netclaw mcp status {name}` asks it again; `netclaw config validate` checks its entry."


def check_servers(loaded: LoadedConfig) -> Iterator[Finding]:
    """How every configured server stands. An entry that is not valid was told of before."""
    from netclaw.cli.tool_servers import ask_servers
    from netclaw.ports.tool_servers import ServerState

    servers = loaded.session.tools.servers
    if not any(server.is_usable for server in servers):
        return
    for status in ask_servers(loaded).statuses:
        if status.state is ServerState.CONNECTED:
            yield passed(NAME, f"{status.name}: {counted(status.tools, 'tool')}.")
        elif status.state is not ServerState.DISABLED:
            text = f"{status.name} is {status.state.value}. {status.sentence}"
            yield warned(NAME, text, FIX.format(name=status.name))
