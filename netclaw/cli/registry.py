"""The table of commands; importing it imports none of them."""

from __future__ import annotations

import click

from netclaw.cli.command import Entry, LazyGroup

_COMMANDS = "netclaw.cli.commands"

TOP = {
    "init": Entry(f"{_COMMANDS}.init:init", "Write a first configuration."),
    "chat": Entry(f"{_COMMANDS}.chat:chat", "Talk to a session, or send one message with -p."),
    "daemon": Entry(f"{_COMMANDS}.daemon:daemon", "Start, stop, restart or look at the daemon."),
    "status": Entry(f"{_COMMANDS}.status:status", "Say how netclaw is doing."),
    "doctor": Entry(f"{_COMMANDS}.doctor:doctor", "Check everything and say how to mend it."),
    "sessions": Entry(f"{_COMMANDS}.sessions:sessions", "List, read, watch and steer sessions."),
    "authorize": Entry(
        f"{_COMMANDS}.authorize:authorize", "Explain what would become of a tool call, and why."
    ),
    "approvals": Entry(
        f"{_COMMANDS}.approvals:approvals", "Decide about tool calls that wait; see consents."
    ),
    "jobs": Entry(f"{_COMMANDS}.jobs:jobs", "See, follow and end background jobs."),
    "runs": Entry(f"{_COMMANDS}.runs:runs", "List and end tasks that were handed to agents."),
    "agents": Entry(f"{_COMMANDS}.agents:agents", "List and check agent definitions."),
    "signals": Entry(
        f"{_COMMANDS}.signals:signals", "See what changed in sessions, and who is told."
    ),
    "goal": Entry(f"{_COMMANDS}.goal:goal", "Show and set what a session is for."),
    "ledger": Entry(f"{_COMMANDS}.ledger:ledger", "Say what became of each message."),
    "config": Entry(f"{_COMMANDS}.config:config", "Read, change and check the configuration."),
    "secrets": Entry(f"{_COMMANDS}.secrets:secrets", "Store credentials, encrypted."),
    "provider": Entry(f"{_COMMANDS}.provider:provider", "List model services."),
    "model": Entry(f"{_COMMANDS}.model:model", "List models, fetch the embedded one."),
    "mcp": Entry(f"{_COMMANDS}.mcp:mcp", "List tool servers and how they stand."),
    "trash": Entry(f"{_COMMANDS}.trash:trash", "Remove the files of deleted sessions for good."),
    "completion": Entry(f"{_COMMANDS}.completion:completion", "Print shell completion."),
    "version": Entry(f"{_COMMANDS}.version:version", "Print the version."),
}


def root() -> LazyGroup:
    """The command `netclaw`."""
    group = LazyGroup(
        "netclaw",
        TOP,
        summary="netclaw: an always-on agent daemon. One conversation is one session, one session"
        " is one process.",
        examples=(
            "netclaw init",
            "netclaw daemon start",
            "netclaw chat",
            'netclaw chat -p "What changed in this repository today?"',
            "netclaw status",
        ),
    )
    group.params.append(
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Print the version.",
        )
    )
    return group


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if value:
        from netclaw import __version__

        click.echo(f"netclaw {__version__}")
        ctx.exit()
