"""`netclaw sessions adopt`: a session goes on from a transcript of another program."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from netclaw.cli.app import App, JsonRow, compact, printable
from netclaw.cli.client import DaemonClient
from netclaw.cli.command import command
from netclaw.cli.completions import session_ids
from netclaw.cli.words import count
from netclaw.core.ids import parse_session_id

ADOPT_TIMEOUT_S = 120.0
"""The daemon reads files of up to 256 MiB before it answers."""


@command(
    "adopt",
    examples=(
        "netclaw sessions adopt ~/.claude/projects/-home-me-app/5f0e.jsonl",
        "netclaw sessions adopt talk.jsonl --session cli/talk --json",
    ),
)
@click.argument("file", metavar="FILE.jsonl", type=click.Path())
@click.option(
    "--session",
    "session_id",
    metavar="ID",
    shell_complete=session_ids,
    help="Go on in this session instead of a new one.",
)
def adopt(app: App, *, file: str, session_id: str | None) -> None:
    """Let a session go on from a transcript, and follow the file.

    Known are the session files of Claude Code, and files of one JSON object a line with role and
    text. The newest messages become the history of a session that has none. While somebody watches
    the session, what people add to the file elsewhere is told.
    """
    if session_id is not None:
        parse_session_id(session_id)
    with DaemonClient(app.home) as client:
        from netclaw.wire.v1.admin_pb2 import AdoptTranscriptRequest

        # The daemon has a folder of its own; which links lead where is for it to judge.
        path = str(Path.cwd() / Path(file).expanduser())
        adopted = client.call(
            client.admin.AdoptTranscript,
            AdoptTranscriptRequest(path=path, session_id=session_id or ""),
            timeout_s=ADOPT_TIMEOUT_S,
        )
    if app.is_json:
        row: JsonRow = {
            "id": adopted.session_id,
            "catalog": adopted.catalog,
            "upstream": adopted.upstream or None,
            "created": adopted.created,
            "messages": adopted.messages,
            "omitted": adopted.omitted,
            "others": list(adopted.others) or None,
        }
        app.emit(compact(row))
        return
    what = f"{count(adopted.messages)} messages" if adopted.messages else "it keeps its own history"
    app.say(f"adopted into {adopted.session_id}: {what}")
    if adopted.omitted:
        app.say(f"left out {count(adopted.omitted)} older ones")
    if adopted.others:
        others = ", ".join(adopted.others)
        app.say(printable(f"the file is followed for nobody: {others} adopted it, too"))
    elif adopted.upstream:
        app.say(f"follows {printable(adopted.upstream)} while somebody watches the session")
    else:
        app.say("the file is not followed: see the daemon's log")
    app.say(f"go on with `netclaw chat --resume {shlex.quote(adopted.session_id)}`")
