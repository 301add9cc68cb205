"""`netclaw config get|set|unset|show|validate|schema`: edits local files only."""

from __future__ import annotations

import json

import click

from netclaw.cli.app import App, JsonRow, JsonValue, compact
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.completions import config_keys
from netclaw.cli.failure import EXIT_FAILURE, print_failure
from netclaw.cli.reloading import reload_daemon
from netclaw.core.errors import InvalidArgumentError

_HERE = "netclaw.cli.commands.config"

config = LazyGroup(
    "config",
    {
        "get": Entry(f"{_HERE}:get", "Print the value of a key that is in force."),
        "set": Entry(f"{_HERE}:set_value", "Set a key; a running daemon takes it over."),
        "unset": Entry(f"{_HERE}:unset", "Remove a key, so that its default is in force."),
        "show": Entry(f"{_HERE}:show", "Print what differs from the defaults."),
        "validate": Entry(f"{_HERE}:validate", "Check the files; list every problem."),
        "schema": Entry(f"{_HERE}:schema", "Print the JSON schema of netclaw.json."),
    },
    summary="Read, change and check the configuration of this home.",
    examples=(
        "netclaw config get Session.IdleTimeout",
        "netclaw config set Tools.ShellMode Off",
        "netclaw config validate",
    ),
)

key_argument = click.argument("key", metavar="DOTTED.KEY", shell_complete=config_keys)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


@command("get", examples=("netclaw config get Session.IdleTimeout", "netclaw config get Models"))
@key_argument
def get(app: App, *, key: str) -> None:
    """Print the value that is in force: defaults, files and environment together.

    Secrets are shown as (set).
    """
    from netclaw.config.edit import get_key

    value = get_key(app.home, app.environ, key)
    if app.is_json:
        app.emit(value)
    else:
        app.say(_text(value))


@command(
    "set",
    examples=(
        "netclaw config set Session.IdleTimeout 00:10:00",
        "netclaw config set Tools.Sandbox.WritableRoots '[\"/srv/data\"]'",
        "netclaw config set Models.Definitions.main.ModelId qwen3",
    ),
)
@key_argument
@click.argument("value", metavar="JSON_OR_TEXT")
def set_value(app: App, *, key: str, value: str) -> None:
    """Set a key in netclaw.json; comments stay.

    The value is checked together with everything else before it is written. With a daemon running
    the command returns when the change is in force.
    """
    from netclaw.config.edit import set_key, undo

    change = set_key(app.home, app.environ, key, value)
    try:
        applied = reload_daemon(app)
    except InvalidArgumentError:
        undo(app.home, change)
        raise
    _show_change(app, change.key, applied, "set")


@command("unset", examples=("netclaw config unset Session.IdleTimeout",))
@key_argument
def unset(app: App, *, key: str) -> None:
    """Remove a key from netclaw.json, so that its default is in force."""
    from netclaw.config.edit import undo, unset_key

    change = unset_key(app.home, app.environ, key)
    try:
        applied = reload_daemon(app)
    except InvalidArgumentError:
        undo(app.home, change)
        raise
    _show_change(app, change.key, applied, "unset")


def _show_change(app: App, key: str, applied: JsonRow, done: str) -> None:
    if app.is_json:
        from netclaw.config.edit import try_key

        value = try_key(app.home, app.environ, key)
        row: JsonRow = {"key": key}
        app.emit(row | ({} if value is None else {"value": value}) | applied)
        return
    how = {
        "next-start": "in force at the next start of the daemon",
        "unchanged": "in force; the daemon had nothing to change",
        "live": "in force",
        "restarted": "in force; the daemon restarted",
    }
    app.say(f"{done} {key}; {how[str(applied['applied'])]}")


@command("show", examples=("netclaw config show", "netclaw config show --all --json"))
@click.option("--all", "is_all", is_flag=True, help="Print everything, defaults included.")
def show(app: App, *, is_all: bool) -> None:
    """Print what is in force and differs from the defaults; secrets as (set).

    Files and environment together, for --json as well; --all prints the defaults, too.
    """
    from netclaw.config import edit

    effective = edit.show if is_all else edit.show_changed
    value = effective(app.home, app.environ)
    if app.is_json:
        app.emit(value)
        return
    app.say(_text(value))
    if not is_all:
        app.note("the rest is as the defaults say: netclaw config show --all")


@command("validate", examples=("netclaw config validate", "netclaw config validate --json"))
def validate(app: App) -> int:
    """Check the files and the environment; exit code 1 if the daemon would refuse them."""
    from netclaw.config.load import list_problems, list_warnings

    home = app.home
    problems = list_problems(home, app.environ)
    warnings = list_warnings(home, app.environ)
    if app.is_json:
        listed: list[JsonValue] = [
            compact({"key": key or None, "message": sentence, "fix": fix or None})
            for key, sentence, fix in problems
        ]
        row: JsonRow = {"valid": not problems, "file": str(home.config_file), "problems": listed}
        app.emit(row | {"warnings": list(warnings)})
    elif not problems:
        app.say(f"{home.config_file}: valid")
    for sentence in warnings:
        app.note(f"[WARN] {app.command}: {sentence}")
    for _, sentence, fix in problems:
        print_failure(app.command, sentence, fix)
    return EXIT_FAILURE if problems else 0


@command("schema", examples=("netclaw config schema > netclaw.schema.json",))
def schema(app: App) -> None:
    """Print the JSON schema of netclaw.json: every key, its type, bounds, default and meaning."""
    from netclaw.config.edit import json_schema

    if app.is_json:
        app.emit(json_schema())
    else:
        app.say(_text(json_schema()))
