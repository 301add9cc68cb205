"""`netclaw goal`: what a session is for, and how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from netclaw.cli.app import App, printable
from netclaw.cli.client import DaemonClient
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.completions import any_session_ids
from netclaw.cli.signal_rows import goal_row
from netclaw.core.errors import InvalidArgumentError
from netclaw.core.ids import parse_session_id

if TYPE_CHECKING:
    from netclaw.wire.v1.admin_pb2 import GoalRow, SetGoalRequest

_HERE = "netclaw.cli.commands.goal"
STATUSES = ("active", "paused", "blocked", "complete")
_COLOUR = {"active": "cyan", "paused": "yellow", "blocked": "red", "complete": "green"}

goal = LazyGroup(
    "goal",
    {
        "show": Entry(f"{_HERE}:show", "Show the goal of a session."),
        "set": Entry(f"{_HERE}:set_goal", "Set or reword it, or move it to a status."),
        "clear": Entry(f"{_HERE}:clear", "Take it away."),
    },
    summary="Show and set what a session is for. Its model is told in every turn, and sessions that"
    " watch it learn of each change.",
    examples=(
        'netclaw goal set release "Ship 1.4 by Friday"',
        "netclaw goal set release --status blocked",
        "netclaw goal show release",
        "netclaw goal clear release",
    ),
)

identifier = click.argument("session_id", metavar="ID", shell_complete=any_session_ids)


@command("show", examples=("netclaw goal show release", "netclaw goal show release --json"))
@identifier
def show(app: App, *, session_id: str) -> None:
    """Show the goal of a session and its status."""
    parse_session_id(session_id)
    with DaemonClient(app.home) as client:
        from netclaw.wire.v1.admin_pb2 import SessionRef

        row = client.call(client.admin.GetGoal, SessionRef(session_id=session_id))
    if app.is_json:
        app.emit(goal_row(row))
        return
    _print_goal(app, row)


@command(
    "set",
    examples=(
        'netclaw goal set release "Ship 1.4 by Friday"',
        "netclaw goal set release --status complete",
        'netclaw goal set release "Ship 1.4.1" --status active --json',
    ),
)
@identifier
@click.argument("text", required=False)
@click.option("--status", type=click.Choice(STATUSES), help="How far it is.")
def set_goal(app: App, *, session_id: str, text: str | None, status: str | None) -> None:
    """Set or reword the goal of a session, move it to a status, or both.

    A new goal is active; it has at most 2,000 characters. What is so already changes nothing, and
    nobody is told.
    """
    if text is None and status is None:
        raise click.UsageError("Give a TEXT, a --status, or both.")
    if text is not None and not text.strip():
        raise InvalidArgumentError(
            "The goal has no words.", fix=f"`netclaw goal clear {session_id}` takes it away."
        )
    from netclaw.wire.v1.admin_pb2 import SetGoalRequest

    _change(app, SetGoalRequest(session_id=session_id, text=text, status=status or ""))


@command("clear", examples=("netclaw goal clear release",))
@identifier
def clear(app: App, *, session_id: str) -> None:
    """Take the goal of a session away."""
    from netclaw.wire.v1.admin_pb2 import SetGoalRequest

    _change(app, SetGoalRequest(session_id=session_id, clear=True))


def _change(app: App, request: SetGoalRequest) -> None:
    parse_session_id(request.session_id)
    with DaemonClient(app.home) as client:
        row = client.call(client.admin.SetGoal, request)
    if app.is_json:
        app.emit(goal_row(row) | {"changed": row.changed})
        return
    _print_goal(app, row)
    if not row.changed:
        app.note("it was so already: nothing changed")


def _print_goal(app: App, row: GoalRow) -> None:
    if not row.text:
        app.say(printable(f"{row.session_id} has no goal"))
        return
    colour = _COLOUR.get(row.status, "dim")
    app.say(f"{app.style(row.status, colour)}  {printable(row.text, keep_lines=True)}")
