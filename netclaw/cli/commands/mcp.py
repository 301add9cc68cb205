"""`netclaw mcp list|status`: the configured tool servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from netclaw.cli.app import App, JsonValue, compact, printable
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.completions import tool_servers

if TYPE_CHECKING:
    from netclaw.ports.tool_servers import Catalogue, ServerStatus, ServerTool

_HERE = "netclaw.cli.commands.mcp"

mcp = LazyGroup(
    "mcp",
    {
        "list": Entry(f"{_HERE}:list_servers", "List tool servers and how each stands."),
        "status": Entry(f"{_HERE}:status", "Show a tool server with its tools, or all of them."),
    },
    default="list",
    summary="Look at the servers that offer tools by the Model Context Protocol (McpServers).",
    examples=("netclaw mcp list", "netclaw mcp status files"),
)


@command("list", examples=("netclaw mcp list", "netclaw mcp list --json"))
def list_servers(app: App) -> None:
    """List tool servers and how each stands.

    Every enabled server is started or reached for it, as a session would, and let go again.
    """
    found = _ask(app)
    if app.is_json:
        app.emit([_row(status) for status in found.statuses])
        return
    if not found.statuses:
        app.say("No tool servers are configured.")
        app.note("fix: netclaw config set McpServers.<name>.Command PROGRAM")
        return
    app.table(
        ("name", "transport", "state", "why"),
        (
            (status.name, status.transport or "-", _state(status), status.sentence)
            for status in found.statuses
        ),
    )


@click.argument("name", required=False, metavar="[NAME]", shell_complete=tool_servers)
@command("status", examples=("netclaw mcp status", "netclaw mcp status files --json"))
def status(app: App, name: str | None) -> None:
    """Show a tool server with its tools, or all of them.

    A tool is listed by the name that models see, and by the one that grants and consent modes use.
    """
    from netclaw.core.errors import NotFoundError
    from netclaw.tools.server_tools import named

    found = _ask(app)
    chosen = [each for each in found.statuses if name in (None, each.name)]
    if name is not None and not chosen:
        raise NotFoundError(
            f"There is no tool server {name!r}.", fix="`netclaw mcp list` names them."
        )
    shown: dict[str, list[tuple[str, ServerTool]]] = {each.name: [] for each in chosen}
    for model_name, tool in named(found.tools):
        shown.get(tool.server, []).append((model_name, tool))
    if app.is_json:
        app.emit([_row(each) | {"toolNames": _tool_rows(shown[each.name])} for each in chosen])
        return
    for each in chosen:
        app.say(app.style(each.name, "bold") + f"  {each.transport}  {_state(each)}")
        if each.sentence:
            app.say(f"  {printable(each.sentence)}")
        for model_name, tool in shown[each.name]:
            app.say(f"  {model_name}  (mcp:{tool.server}:{tool.name})")


def _ask(app: App) -> Catalogue:
    from netclaw.cli.tool_servers import ask_servers
    from netclaw.config.load import load_config

    return ask_servers(load_config(app.home, app.environ))


def _state(status: ServerStatus) -> str:
    return f"{status.state.value} ({status.tools})" if not status.sentence else status.state.value


def _row(status: ServerStatus) -> dict[str, JsonValue]:
    return compact(
        {
            "name": status.name,
            "transport": status.transport or None,
            "state": status.state.value,
            "tools": status.tools,
            "reason": status.sentence or None,
        }
    )


def _tool_rows(tools: list[tuple[str, ServerTool]]) -> JsonValue:
    return [
        {"name": model_name, "grant": f"mcp:{tool.server}:{tool.name}"}
        for model_name, tool in tools
    ]
