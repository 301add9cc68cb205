"""`netclaw sessions stop|restart|kill|compact|reset|delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from netclaw.cli.app import App, JsonRow, compact
from netclaw.cli.command import command
from netclaw.cli.commands.sessions import session_id as identifier
from netclaw.cli.commands.sessions import steer
from netclaw.cli.rows import phase_of
from netclaw.core.errors import InvalidArgumentError

if TYPE_CHECKING:
    from netclaw.wire.v1 import gateway_pb2


def _show(app: App, row: gateway_pb2.SessionRow, done: str) -> None:
    if app.is_json:
        result: JsonRow = {"id": row.id, "phase": phase_of(row), "pid": row.pid or None}
        app.emit(compact(result))
        return
    process = f", process {row.pid}" if row.pid else ""
    app.say(f"{done} {row.id}: {phase_of(row)}{process}")


@command("kill", examples=("netclaw sessions kill notes",))
@identifier
def kill(app: App, *, session_id: str) -> None:
    """Kill the session's process at once, without a drain.

    Nothing admitted is lost: the session comes back by itself if it had work.
    """
    _show(app, steer(app, session_id, "KillSession"), "killed")


@command("stop", examples=("netclaw sessions stop notes",))
@identifier
def stop(app: App, *, session_id: str) -> None:
    """End the session's process gracefully; the next message starts it again."""
    _show(app, steer(app, session_id, "StopSession"), "stopped")


@command("restart", examples=("netclaw sessions restart notes",))
@identifier
def restart(app: App, *, session_id: str) -> None:
    """Drain the session and start it again; lifts a quarantine."""
    _show(app, steer(app, session_id, "RestartSession"), "restarted")


@command("compact", examples=("netclaw sessions compact notes",))
@identifier
def compact_session(app: App, *, session_id: str) -> None:
    """Shorten the session's history now."""
    _show(app, steer(app, session_id, "CompactSession"), "compacting")


@command("reset", examples=("netclaw sessions reset notes",))
@identifier
@click.option("--yes", is_flag=True, help="Not needed: it never asks.")
def reset(app: App, *, session_id: str, yes: bool) -> None:
    """Begin a new life of the session: its history is emptied, its files stay."""
    del yes  # accepted for symmetry with delete: files stay, so there is nothing to ask
    _show(app, steer(app, session_id, "ResetSession"), "reset")


@command("delete", examples=("netclaw sessions delete notes --yes",))
@identifier
@click.option("--yes", is_flag=True, help="Confirm.")
def delete(app: App, *, session_id: str, yes: bool) -> None:
    """Remove the session's history and state; its files move to the trash."""
    if not yes:
        raise InvalidArgumentError(
            f"Deleting {session_id} removes its history for good.", fix="Confirm with --yes."
        )
    _show(app, steer(app, session_id, "DeleteSession"), "deleted")
