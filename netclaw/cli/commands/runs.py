"""`netclaw runs`: see the tasks that sessions handed to agents, read their results, end them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from netclaw.cli.app import App, JsonRow, compact, printable
from netclaw.cli.client import DaemonClient
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.completions import run_ids
from netclaw.cli.named import begins_so
from netclaw.cli.pages import all_rows
from netclaw.cli.params import of_session
from netclaw.cli.rows import when
from netclaw.cli.words import ago, duration, moment

if TYPE_CHECKING:
    from netclaw.wire.v1.admin_pb2 import RunRow

_HERE = "netclaw.cli.commands.runs"
CANCEL_TIMEOUT_S = 30.0
_COLOUR = {
    "Accepted": "yellow",
    "Running": "cyan",
    "Cancelling": "yellow",
    "Parked": "yellow",
    "Completed": "green",
    "Failed": "red",
    "Lost": "red",
}

runs = LazyGroup(
    "runs",
    {
        "list": Entry(f"{_HERE}:list_runs", "List child runs of every session."),
        "show": Entry(f"{_HERE}:show", "Show one of them and where its result is."),
        "cancel": Entry(f"{_HERE}:cancel", "End one; its session is told."),
    },
    default="list",
    summary="Look after tasks that sessions handed to agents. Without a further word it lists"
    " them.",
    examples=(
        "netclaw runs list",
        "netclaw runs show 4kq2",
        "netclaw runs cancel 4kq2",
        "netclaw sessions attach notes/sub/4kq2xyzabcdefghi",
    ),
)

identifier = click.argument("run_id", metavar="RUN_ID", shell_complete=run_ids)


@command("list", examples=("netclaw runs list", "netclaw runs list --session notes --open --json"))
@of_session
@click.option("--open", "is_open", is_flag=True, help="Only those that are not over.")
def list_runs(app: App, *, session_id: str, is_open: bool) -> None:
    """List child runs by age, also those that are over.

    A run that is Parked has no process: it waits for somebody's consent, or for the next start.
    """
    rows = [row for row in all_runs(app, session_id) if not (is_open and row.ended_at_ms)]
    if app.is_json:
        app.emit([run_row(row) for row in rows])
        return
    if not rows:
        app.say("no child runs")
        return
    app.table(
        ("id", "state", "for", "agent", "pid", "session"),
        (
            (
                row.run_id,
                _state(row),
                duration(_seconds(row)),
                row.agent,
                str(row.pid or "-"),
                row.parent,
            )
            for row in rows
        ),
        expendable=("pid", "for"),
    )


@command("show", examples=("netclaw runs show 4kq2", "netclaw runs show 4kq2 --json"))
@identifier
def show(app: App, *, run_id: str) -> None:
    """Show a run: who asked for it, how it stands, where its files are.

    RUN_ID may be shortened as long as it stays unique.
    """
    row = named(all_runs(app), run_id)
    if app.is_json:
        app.emit(run_row(row))
        return
    colour = _COLOUR.get(row.state, "dim")
    app.say(f"{app.style(row.run_id, 'bold')}  {app.style(_state(row), colour)}")
    facts = [
        ("agent", row.agent),
        ("asked by", row.parent),
        ("session", row.session_id),
        ("process", str(row.pid or "none")),
        ("accepted", f"{moment(row.started_at_ms)} ({ago(row.started_at_ms)})"),
        ("took" if row.ended_at_ms else "for", duration(_seconds(row))),
        ("result", row.result_path or "none"),
        ("files", row.folder),
    ]
    for name, value in facts:
        app.say(f"  {app.style(f'{name:<8}', 'dim')}  {printable(value)}")


@command("cancel", examples=("netclaw runs cancel 4kq2", "netclaw runs cancel 4kq2 --json"))
@identifier
def cancel(app: App, *, run_id: str) -> None:
    """End a run: it starts nothing any more, and what it has running is killed.

    Its session is told of it as of any other end.
    """
    row = named(all_runs(app), run_id)
    with DaemonClient(app.home) as client:
        from netclaw.wire.v1.admin_pb2 import RunRef

        request = RunRef(run_id=row.run_id)
        row = client.call(client.admin.CancelRun, request, timeout_s=CANCEL_TIMEOUT_S)
    if app.is_json:
        app.emit(run_row(row))
        return
    app.say(f"{row.run_id}: {_state(row)}")


def all_runs(app: App, session_id: str = "") -> list[RunRow]:
    """Every run that is listed, a page at a time."""
    from netclaw.wire.v1.admin_pb2 import ListRunsRequest

    with DaemonClient(app.home) as client:

        def page_after(position: int) -> tuple[Iterable[RunRow], bool]:
            request = ListRunsRequest(session_id=session_id, after=position)
            page = client.call(client.admin.ListRuns, request)
            return page.runs, page.more

        return all_rows(page_after)


def run_row(row: RunRow) -> JsonRow:
    """A line of `runs list`."""
    return compact(
        {
            "runId": row.run_id,
            "parent": row.parent,
            "sessionId": row.session_id,
            "agent": row.agent,
            "state": row.state,
            "reason": row.reason or None,
            "pid": row.pid or None,
            "startedAt": when(row.started_at_ms),
            "endedAt": when(row.ended_at_ms),
            "toldAt": when(row.told_at_ms),
            "resultPath": row.result_path or None,
            "folder": row.folder or None,
            "turnId": row.turn_id,
            "callId": row.call_id,
        }
    )


def named(rows: list[RunRow], name: str) -> RunRow:
    """The run whose id begins so; raises if there is none, or more than one."""
    return begins_so(
        rows,
        name,
        lambda row: row.run_id,
        noun="run",
        kind="child run",
        list_with="netclaw runs list",
    )


def _state(row: RunRow) -> str:
    return f"{row.state} ({row.reason})" if row.reason else row.state


def _seconds(row: RunRow) -> float:
    end_ms = row.ended_at_ms or time.time_ns() // 1_000_000
    return max(0, end_ms - row.started_at_ms) / 1000
