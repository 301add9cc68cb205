"""`netclaw jobs`: see the commands that run in the background, read what they print, end them."""

from __future__ import annotations

import codecs
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from netclaw.cli.app import App, JsonRow, compact, printable
from netclaw.cli.client import DaemonClient
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.completions import job_ids
from netclaw.cli.named import begins_so
from netclaw.cli.pages import all_rows
from netclaw.cli.params import of_session
from netclaw.cli.rows import when
from netclaw.cli.streams import write_out
from netclaw.cli.words import ago, duration, moment, shorten
from netclaw.core.text import one_line

if TYPE_CHECKING:
    from netclaw.wire.v1.admin_pb2 import JobRow

_HERE = "netclaw.cli.commands.jobs"
LIVE = ("Pending", "Running")
COMMAND_WIDTH = 60
CANCEL_TIMEOUT_S = 30.0
_COLOUR = {
    "Pending": "yellow",
    "Running": "cyan",
    "Completed": "green",
    "Failed": "red",
    "TimedOut": "red",
    "Lost": "red",
}

jobs = LazyGroup(
    "jobs",
    {
        "list": Entry(f"{_HERE}:list_jobs", "List background jobs of every session."),
        "show": Entry(f"{_HERE}:show", "Show one of them."),
        "cancel": Entry(f"{_HERE}:cancel", "Kill one with all its processes."),
        "tail": Entry(f"{_HERE}:tail", "Print the end of what one printed, and follow it."),
    },
    default="list",
    summary="Look after commands that sessions run in the background. Without a further word it"
    " lists them.",
    examples=(
        "netclaw jobs list",
        "netclaw jobs show 4kq2",
        "netclaw jobs tail 4kq2 --follow",
        "netclaw jobs cancel 4kq2",
    ),
)

identifier = click.argument("job_id", metavar="JOB_ID", shell_complete=job_ids)


@command("list", examples=("netclaw jobs list", "netclaw jobs list --session notes --live --json"))
@of_session
@click.option("--live", "is_live", is_flag=True, help="Only those that run or wait to run.")
def list_jobs(app: App, *, session_id: str, is_live: bool) -> None:
    """List background jobs by age, until a day after their session told of them.

    Five run at once in the whole daemon; the others are Pending.
    """
    rows = [row for row in all_jobs(app, session_id) if not is_live or row.state in LIVE]
    if app.is_json:
        app.emit([job_row(row) for row in rows])
        return
    if not rows:
        app.say("no background jobs")
        return
    app.table(
        ("id", "state", "for", "session", "command"),
        (
            (
                row.job_id,
                _state(row),
                duration(_seconds(row)),
                row.session_id,
                shorten(one_line(row.command, COMMAND_WIDTH * 2), COMMAND_WIDTH),
            )
            for row in rows
        ),
        expendable=("for", "session"),
    )


@command("show", examples=("netclaw jobs show 4kq2", "netclaw jobs show 4kq2 --json"))
@identifier
def show(app: App, *, job_id: str) -> None:
    """Show a job: where it comes from, how it stands, where its output is.

    JOB_ID may be shortened as long as it stays unique.
    """
    row = named(all_jobs(app), job_id)
    if app.is_json:
        app.emit(job_row(row))
        return
    colour = _COLOUR.get(row.state, "dim")
    app.say(f"{app.style(row.job_id, 'bold')}  {app.style(_state(row), colour)}")
    for line in printable(row.command, keep_lines=True).splitlines():
        app.say(f"  {line}")
    facts = [
        ("session", row.session_id),
        ("started", f"{moment(row.started_at_ms)} ({ago(row.started_at_ms)})"),
        ("took" if row.ended_at_ms else "for", duration(_seconds(row))),
        ("limit", f"{row.limit_s:g} s" if row.limit_s else "none"),
        ("log", row.log_path),
    ]
    for name, value in facts:
        app.say(f"  {app.style(f'{name:<8}', 'dim')}{printable(value)}")


@command("cancel", examples=("netclaw jobs cancel 4kq2", "netclaw jobs cancel 4kq2 --json"))
@identifier
def cancel(app: App, *, job_id: str) -> None:
    """Kill a job with all its processes, or take it out of the queue.

    Its session is told of it as of any other end.
    """
    row = named(all_jobs(app), job_id)
    with DaemonClient(app.home) as client:
        from netclaw.wire.v1.admin_pb2 import JobRef

        request = JobRef(job_id=row.job_id)
        row = client.call(client.admin.CancelJob, request, timeout_s=CANCEL_TIMEOUT_S)
    if app.is_json:
        app.emit(job_row(row))
        return
    app.say(f"{row.job_id}: {_state(row)}")


@command(
    "tail", examples=("netclaw jobs tail 4kq2", "netclaw jobs tail 4kq2 --follow --bytes 2000")
)
@identifier
@click.option("-f", "--follow", "is_following", is_flag=True, help="Go on until the job is over.")
@click.option(
    "--bytes",
    "size",
    type=click.IntRange(1, 1024 * 1024),
    default=16 * 1024,
    show_default=True,
    help="How much of the end to begin with.",
)
def tail(app: App, *, job_id: str, is_following: bool, size: int) -> None:
    """Print the end of a job's output; secrets are taken out of it before it is stored.

    With --json one value {jobId, output}, and with --follow a line for each piece.
    """
    row = named(all_jobs(app), job_id)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    texts: list[str] = []
    with DaemonClient(app.home) as client:
        from netclaw.wire.v1.admin_pb2 import TailJobRequest

        request = TailJobRequest(job_id=row.job_id, bytes=size, follow=is_following)
        for piece in client.stream(client.admin.TailJob, request):
            text = decoder.decode(piece.data)
            if not app.is_json:
                write_out(printable(text, keep_lines=True))
            elif is_following:
                app.emit({"jobId": row.job_id, "output": text})
            else:
                texts.append(text)
    if app.is_json and not is_following:
        app.emit({"jobId": row.job_id, "output": "".join(texts)})


def all_jobs(app: App, session_id: str = "") -> list[JobRow]:
    """Every job that is listed, a page at a time."""
    from netclaw.wire.v1.admin_pb2 import ListJobsRequest

    with DaemonClient(app.home) as client:

        def page_after(position: int) -> tuple[Iterable[JobRow], bool]:
            request = ListJobsRequest(session_id=session_id, after=position)
            page = client.call(client.admin.ListJobs, request)
            return page.jobs, page.more

        return all_rows(page_after)


def job_row(row: JobRow) -> JsonRow:
    """A line of `jobs list`."""
    return compact(
        {
            "jobId": row.job_id,
            "sessionId": row.session_id,
            "state": row.state,
            "command": row.command,
            "startedAt": when(row.started_at_ms),
            "endedAt": when(row.ended_at_ms),
            "exitCode": row.exit_code if row.HasField("exit_code") else None,
            "logPath": row.log_path,
            "timeoutSeconds": row.limit_s or None,
            "turnId": row.turn_id,
            "callId": row.call_id,
            "toldAt": when(row.told_at_ms),
        }
    )


def named(rows: list[JobRow], name: str) -> JobRow:
    """The job whose id begins so; raises if there is none, or more than one."""
    return begins_so(
        rows,
        name,
        lambda row: row.job_id,
        noun="job",
        kind="background job",
        list_with="netclaw jobs list",
    )


def _state(row: JobRow) -> str:
    has_failed = row.HasField("exit_code") and row.exit_code != 0
    return f"{row.state} ({row.exit_code})" if has_failed else row.state


def _seconds(row: JobRow) -> float:
    end_ms = row.ended_at_ms or time.time_ns() // 1_000_000
    return max(0, end_ms - row.started_at_ms) / 1000
