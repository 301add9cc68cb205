"""`netclaw authorize`: what would become of a call, and why. Runs nothing."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from pathlib import Path

import click

from netclaw.cli.app import App
from netclaw.cli.command import command
from netclaw.cli.completions import tool_names
from netclaw.core.authority import Audience
from netclaw.core.errors import InvalidArgumentError

SHELL = "shell_execute"
AUDIENCES = [audience.value for audience in Audience]


@command(
    "authorize",
    examples=(
        "netclaw authorize -- 'git add . && git push'",
        "netclaw authorize --unattended -- npm run build",
        'netclaw authorize --audience Team --tool file_write -- \'{"path": "a", "content": "b"}\'',
        "netclaw authorize --json -- curl https://example.org",
    ),
)
@click.option(
    "--audience",
    type=click.Choice(AUDIENCES, case_sensitive=False),
    default=Audience.PERSONAL.value,
    help="Who talks to the session. Default: Personal.",
)
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    help="Where the command runs; the project directory, where it may be one. Default: here.",
)
@click.option("--unattended", is_flag=True, help="As if nobody were there to answer.")
@click.option(
    "--tool",
    metavar="NAME",
    default=SHELL,
    shell_complete=tool_names,
    help=f"Default: {SHELL}.",
)
@click.argument("words", nargs=-1, required=True, metavar="COMMAND_OR_JSON")
def authorize(
    app: App,
    *,
    audience: str,
    cwd: Path | None,
    unattended: bool,
    tool: str,
    words: tuple[str, ...],
) -> None:
    """Explain what would become of a tool call, and why; run nothing.

    For shell_execute pass the command, best as one word in quotes; for other tools their arguments
    as one JSON object. The answer is that of a new session of the audience, under the
    configuration and the stored grants of this moment; grants of a single chat are not known here.
    """
    from netclaw.cli.authorize.rehearsal import Asked, Rehearsal
    from netclaw.cli.authorize.sources import sandbox_of, stored_grants
    from netclaw.cli.authorize.view import explained_row, show
    from netclaw.config.load import load_config

    asked = Asked(
        arguments=_arguments(tool, words),
        tool=tool,
        audience=Audience(audience),
        folder=_folder(cwd),
        is_attended=not unattended,
    )
    settings = load_config(app.home, app.environ).session.tools
    rehearsal = Rehearsal(app.home, settings, sandbox_of(settings), stored_grants(app.home))
    explained = asyncio.run(rehearsal.explain(asked))
    if app.is_json:
        app.emit(explained_row(explained))
    else:
        show(app, explained)


def _folder(chosen: Path | None) -> str:
    """The folder, links followed, as a session that works in it knows it."""
    try:
        return os.path.realpath(chosen if chosen is not None else Path.cwd())
    except OSError:
        raise InvalidArgumentError(
            "The folder that this was started in is gone.", fix="Name one with --cwd DIR."
        ) from None


def _arguments(tool: str, words: tuple[str, ...]) -> str:
    """The arguments as the JSON text of a call; a command may be given as it is typed."""
    text = words[0] if len(words) == 1 else shlex.join(words)
    if tool != SHELL or _is_object(text):
        return text
    return json.dumps({"command": text}, ensure_ascii=False)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
