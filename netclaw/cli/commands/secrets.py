"""`netclaw secrets set`: write-only."""

from __future__ import annotations

import sys

import click

from netclaw.cli.app import App, JsonRow
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.reloading import reload_daemon
from netclaw.core.errors import InvalidArgumentError

secrets = LazyGroup(
    "secrets",
    {"set": Entry("netclaw.cli.commands.secrets:set_secret", "Store a credential, encrypted.")},
    summary="Store credentials in secrets.json, encrypted. Nothing reads them back out.",
    examples=("netclaw secrets set Providers.openai.ApiKey",),
)


@command(
    "set",
    examples=(
        "netclaw secrets set Providers.openai.ApiKey",
        "netclaw secrets set Providers.openai.ApiKey - < key.txt",
    ),
)
@click.argument("key", metavar="DOTTED.KEY")
@click.argument("value", required=False)
def set_secret(app: App, *, key: str, value: str | None) -> None:
    """Store a credential.

    Without VALUE it is asked for without echo, or read from standard input; so it stays out of
    the shell's history and the process list.
    """
    from netclaw.config.secret_store import set_secret as store

    name = store(app.home, key, _read() if value in (None, "-") else str(value))
    row: JsonRow = {"key": name, "stored": True}
    row |= reload_daemon(app)
    if app.is_json:
        app.emit(row)
    else:
        app.say(f"stored {name}, encrypted")


def _read() -> str:
    if sys.stdin.isatty():
        prompted: str = click.prompt("Value", hide_input=True, err=True)
        return prompted
    try:
        return sys.stdin.buffer.read().decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise InvalidArgumentError("The value on standard input is not valid UTF-8.") from None
