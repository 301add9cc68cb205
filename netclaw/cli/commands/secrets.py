"""`netclaw secrets list|set|unset`: names are shown, values never."""

from __future__ import annotations

import sys

import click

from netclaw.cli.app import App, JsonRow
from netclaw.cli.asking import ask_line
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.completions import secret_keys, stored_secrets
from netclaw.cli.reloading import reload_daemon
from netclaw.core.errors import InvalidArgumentError

_HERE = "netclaw.cli.commands.secrets"

secrets = LazyGroup(
    "secrets",
    {
        "list": Entry(f"{_HERE}:list_secrets", "Name the stored credentials."),
        "set": Entry(f"{_HERE}:set_secret", "Store a credential, encrypted."),
        "unset": Entry(f"{_HERE}:unset_secret", "Remove a stored credential."),
    },
    summary="Store credentials in secrets.json, encrypted. Nothing reads them back out.",
    examples=("netclaw secrets set Providers.anthropic.ApiKey", "netclaw secrets list"),
    default="list",
)


@command(
    "set",
    examples=(
        "netclaw secrets set Providers.anthropic.ApiKey",
        "netclaw secrets set Providers.anthropic.ApiKey - < key.txt",
        "netclaw secrets set Slack.BotToken",
    ),
)
@click.argument("key", metavar="DOTTED.KEY", shell_complete=secret_keys)
@click.argument("value", required=False)
def set_secret(app: App, *, key: str, value: str | None) -> None:
    """Store a credential.

    Of a model service the middle part of the key is the provider's name in netclaw.json
    (`netclaw provider list`); a channel's tokens are Slack.AppToken and Slack.BotToken,
    Discord.BotToken, Mattermost.BotToken. A running daemon takes it over at once.
    Without VALUE it is asked for without echo, or read from standard input; so it stays out of
    the shell's history and the process list.
    """
    from netclaw.config.secret_edit import restore, store_secret, stored_text

    secret = _read() if value in (None, "-") else str(value)
    before = stored_text(app.home)
    name = store_secret(app.home, app.environ, key, secret)
    row: JsonRow = {"key": name, "stored": True}
    try:
        row |= reload_daemon(app)
    except InvalidArgumentError:
        restore(app.home, before)
        raise
    if app.is_json:
        app.emit(row)
    else:
        app.say(f"stored {name}, encrypted")


@command("unset", examples=("netclaw secrets unset Providers.anthropic.ApiKey",))
@click.argument("key", metavar="DOTTED.KEY", shell_complete=stored_secrets)
def unset_secret(app: App, *, key: str) -> None:
    """Remove a stored credential."""
    from netclaw.config.secret_edit import restore, stored_text
    from netclaw.config.secret_store import unset_secret as remove

    before = stored_text(app.home)
    name = remove(app.home, key)
    row: JsonRow = {"key": name, "stored": False}
    try:
        row |= reload_daemon(app)
    except InvalidArgumentError:
        restore(app.home, before)
        raise
    if app.is_json:
        app.emit(row)
    else:
        app.say(f"removed {name}")


@command("list", examples=("netclaw secrets list", "netclaw secrets list --json"))
def list_secrets(app: App) -> None:
    """Name the stored credentials; their values are shown nowhere."""
    from netclaw.config.secret_store import secret_names

    names = secret_names(app.home)
    if app.is_json:
        app.emit([{"key": name} for name in names])
        return
    for name in names:
        app.say(name)
    if not names:
        app.note("no credentials are stored")


def _read() -> str:
    if sys.stdin.isatty():
        return ask_line("Value", is_shown=False)
    try:
        return sys.stdin.buffer.read().decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise InvalidArgumentError("The value on standard input is not valid UTF-8.") from None
