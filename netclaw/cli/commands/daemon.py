"""`netclaw daemon start|stop|restart|status`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netclaw.cli import daemon_control
from netclaw.cli.app import App, JsonRow
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.failure import EXIT_FAILURE
from netclaw.cli.holder import UnreachableDaemonError
from netclaw.cli.rows import adapter_text, daemon_row
from netclaw.cli.words import duration
from netclaw.core.errors import DaemonDownError, OperationTimeoutError

if TYPE_CHECKING:
    from netclaw.wire.v1 import admin_pb2

_HERE = "netclaw.cli.commands.daemon"

daemon = LazyGroup(
    "daemon",
    {
        "start": Entry(f"{_HERE}:start", "Start it in the background; returns when it is ready."),
        "stop": Entry(f"{_HERE}:stop", "Stop it; turns end at their next safe point."),
        "restart": Entry(f"{_HERE}:restart", "Drain, then start again in the same process."),
        "status": Entry(f"{_HERE}:status", "Show its state, processes and sandbox."),
    },
    summary="Start, stop, restart or look at the daemon. `netclawd` runs it in the foreground.",
    examples=("netclaw daemon start", "netclaw daemon status --json"),
)


@command("start", examples=("netclaw daemon start",))
def start(app: App) -> None:
    """Start the daemon in the background and return when it is ready."""
    status, is_new = daemon_control.start(app)
    if app.is_json:
        app.emit(daemon_row(status))
        return
    word = "running" if is_new else "was already running"
    app.say(f"netclaw {status.version} {word}, process {status.pid}")
    if status.degraded_reason:
        app.note(f"degraded: {status.degraded_reason}")


@command("stop", examples=("netclaw daemon stop",))
def stop(app: App) -> None:
    """Stop the daemon; what does not end in time is killed, and nothing admitted is lost."""
    stopped = daemon_control.stop(app)
    if app.is_json:
        row: JsonRow = {"state": "stopped"}
        if stopped is not None:
            row |= {"pid": stopped.pid, "killed": stopped.was_killed}
        app.emit(row)
    elif stopped is None:
        app.say("no daemon was running")
    else:
        app.say(f"stopped process {stopped.pid}" + (" by force" if stopped.was_killed else ""))


@command("restart", examples=("netclaw daemon restart",))
def restart(app: App) -> None:
    """Restart the daemon in place (same process), or start it if none runs."""
    status = daemon_control.restart(app)
    if app.is_json:
        app.emit(daemon_row(status))
    else:
        app.say(f"running, process {status.pid}, generation {status.generation}")


@command("status", examples=("netclaw daemon status", "netclaw daemon status --json"))
def status(app: App) -> int:
    """Show the daemon's state; the exit code is 1 when it is stopped."""
    try:
        found = daemon_control.query_status(app.home)
    except UnreachableDaemonError as error:
        raise OperationTimeoutError(error.sentence, fix=error.fix) from None
    except DaemonDownError:
        return _show_stopped(app)
    if app.is_json:
        app.emit(daemon_row(found))
    else:
        show(app, found)
    return 0


def _show_stopped(app: App) -> int:
    if app.is_json:
        app.emit({"state": "stopped"})
    else:
        app.say("stopped")
        app.note("  fix: Start it with `netclaw daemon start`.")
    return EXIT_FAILURE


def show(app: App, found: admin_pb2.StatusResponse) -> None:
    """The facts for a person."""
    lines = [
        ("state", f"{found.state}, process {found.pid}, generation {found.generation}"),
        ("version", f"{found.version}, up {duration(found.uptime_s)}"),
        ("sessions", f"{found.live_sessions} live, {found.quarantined_sessions} quarantined"),
        ("sandbox", f"{found.sandbox_backend}, limits by {found.sandbox_limits}"),
        ("zygote", f"process {found.zygote_pid}" if found.zygote_pid else "none: starts by exec"),
    ]
    lines += [(row.channel, adapter_text(row)) for row in found.adapters]
    for name, value in lines:
        app.say(f"{name:<10}{value}")
    if found.degraded_reason:
        app.say(app.style(f"degraded  {found.degraded_reason}", "yellow"))
