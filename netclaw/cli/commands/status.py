"""`netclaw status`: the one look at everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netclaw.cli.app import App, JsonRow, compact, printable
from netclaw.cli.client import DaemonClient
from netclaw.cli.command import command
from netclaw.cli.daemon_control import STATUS_TIMEOUT_S
from netclaw.cli.failure import EXIT_FAILURE, EXIT_OK, EXIT_USAGE
from netclaw.cli.holder import UnreachableDaemonError, lock_owner
from netclaw.cli.rows import adapter_text, daemon_row
from netclaw.cli.words import count, counted, duration, size
from netclaw.core.errors import DaemonDownError, NetclawError, OperationTimeoutError

if TYPE_CHECKING:
    from netclaw.config.home import Home
    from netclaw.wire.v1 import admin_pb2

HEALTHY, DEGRADED, DOWN, HUNG = "healthy", "degraded", "down", "hung"
_EXIT = {HEALTHY: EXIT_OK, DEGRADED: EXIT_USAGE, DOWN: EXIT_FAILURE}
_COLOUR = {HEALTHY: "green", DEGRADED: "yellow", DOWN: "red"}
_GOOD_ADAPTER = ("ready", "running", "healthy", "disabled")
_GOOD_STORAGE = ("", "ok")


@command("status", examples=("netclaw status", "netclaw status --json"))
def status(app: App) -> int:
    """Say how netclaw is doing. Exit code 0: healthy, 2: degraded, 1: down or hung."""
    home = app.home
    try:
        with DaemonClient(home) as client:
            from netclaw.wire.v1.admin_pb2 import StatusRequest

            found = client.call(client.admin.Status, StatusRequest(), timeout_s=STATUS_TIMEOUT_S)
    except (UnreachableDaemonError, OperationTimeoutError) as error:
        return _show_hung(app, error)
    except DaemonDownError as error:
        if app.is_json:
            app.emit({"overall": DOWN, "daemon": {"state": "stopped"}, "home": str(home.root)})
        else:
            app.say(f"netclaw is {app.style(DOWN, 'red', 'bold')}: {error.sentence}")
            app.note(f"  fix: {error.fix}")
        return EXIT_FAILURE
    overall, reasons = judge(found)
    if app.is_json:
        app.emit(_row(home, found, overall, reasons))
    else:
        _show(app, home, found, overall, reasons)
    return _EXIT[overall]


def _show_hung(app: App, error: NetclawError) -> int:
    """A daemon that holds the home and cannot be asked is not down: a start would be refused."""
    home = app.home
    if app.is_json:
        daemon: JsonRow = compact({"state": HUNG, "pid": lock_owner(home)})
        row: JsonRow = {"overall": HUNG, "reasons": [error.sentence]}
        app.emit(row | {"daemon": daemon, "home": str(home.root)})
    else:
        app.say(f"netclaw is {app.style(HUNG, 'red', 'bold')}: {error.sentence}")
        app.note(f"  fix: {error.fix}")
    return EXIT_FAILURE


def judge(found: admin_pb2.StatusResponse) -> tuple[str, list[str]]:
    """The overall word and why it is not `healthy`."""
    reasons = []
    if found.degraded_reason:
        reasons.append(found.degraded_reason)
    if found.config_problem:
        reasons.append(f"An edit of the configuration is not in force: {found.config_problem}")
    if found.grants_problem:
        reasons.append(f"No stored grant counts; the grants file: {found.grants_problem}.")
    if found.signals_problem:
        reasons.append(f"Changes of sessions are not recorded: {found.signals_problem}")
    if found.state != "running":
        reasons.append(f"The daemon is {found.state}.")
    if found.storage_state not in _GOOD_STORAGE:
        reasons.append(f"Storage: {found.storage_state}.")
    if found.quarantined_sessions:
        reasons.append(
            f"{found.quarantined_sessions} quarantined; see `netclaw sessions`, then"
            " `netclaw sessions restart ID`."
        )
    reasons += [
        f"The {row.channel} adapter is {row.state}"
        + (f": {row.last_failure}" if row.last_failure else ".")
        + (" See `netclaw doctor`." if row.state == "failed" else "")
        for row in found.adapters
        if row.state not in _GOOD_ADAPTER
    ]
    return (DEGRADED if reasons else HEALTHY), reasons


def _row(home: Home, found: admin_pb2.StatusResponse, overall: str, reasons: list[str]) -> JsonRow:
    return compact(
        {
            "overall": overall,
            "reasons": list(reasons) or None,
            "home": str(home.root),
            "version": found.version,
            "daemon": daemon_row(found),
            "model": compact(
                {
                    "provider": found.main_provider or None,
                    "modelId": found.main_model or None,
                }
            ),
            "sessions": {
                "total": found.total_sessions,
                "live": found.live_sessions,
                "passive": passive(found),
                "quarantined": found.quarantined_sessions,
            },
            "approvals": {"open": found.open_approvals},
            "jobs": {"running": found.running_jobs, "pending": found.waiting_jobs},
            "signals": {"watches": found.watches, "openNotices": found.open_notices},
            "inputs": {"admitted": found.admitted_inputs, "pending": found.pending_inputs},
            "turns": {"completed": found.turns_completed, "failed": found.turns_failed},
            "storage": {
                "state": found.storage_state or "ok",
                "path": str(home.database),
                "bytes": found.database_bytes,
            },
            "outbox": {"waiting": found.outbox_waiting},
            "memory": {
                "daemonBytes": found.daemon_memory_bytes,
                "sessionsBytes": found.sessions_memory_bytes,
            },
        }
    )


def passive(found: admin_pb2.StatusResponse) -> int:
    """Sessions at rest: no process, and nothing wrong with them."""
    return max(0, found.total_sessions - found.live_sessions - found.quarantined_sessions)


def _show(
    app: App, home: Home, found: admin_pb2.StatusResponse, overall: str, reasons: list[str]
) -> None:
    app.say(
        f"netclaw {found.version} is {app.style(overall, _COLOUR[overall], 'bold')}"
        f", up {duration(found.uptime_s)}"
    )
    for reason in reasons:
        app.say(app.style(f"  ! {reason}", "yellow"))
    app.say()
    for name, value in _facts(home, found):
        app.say(f"  {app.style(f'{name:<11}', 'dim')}{printable(value)}")


def _facts(home: Home, found: admin_pb2.StatusResponse) -> list[tuple[str, str]]:
    """What there is to know, a line each."""
    limits = f", limits by {found.sandbox_limits}" if found.sandbox_limits else ""
    waiting = count(found.pending_inputs)
    facts = [
        ("model", f"{found.main_model} at {found.main_provider}" if found.main_model else "none"),
        ("sessions", _sessions(found)),
        ("queue", f"{waiting} waiting, {counted(found.admitted_inputs, 'message')} in all"),
        ("turns", f"{count(found.turns_completed)} done, {count(found.turns_failed)} failed"),
        ("storage", f"{found.storage_state or 'ok'}, {size(found.database_bytes)}"),
        ("sandbox", f"{found.sandbox_backend or 'none'}{limits}"),
        ("memory", _memory(found)),
    ]
    if found.open_approvals:
        waiting_calls = counted(found.open_approvals, "call")
        facts.append(("decisions", f"{waiting_calls} to decide: netclaw approvals pending"))
    if found.running_jobs:
        waiting_jobs = f", {found.waiting_jobs} waiting" if found.waiting_jobs else ""
        facts.append(("jobs", f"{found.running_jobs} running{waiting_jobs}"))
    if found.open_notices:
        waiting_notices = counted(found.open_notices, "notice")
        facts.append(("changes", f"{waiting_notices} to be told: netclaw signals watches"))
    if found.outbox_waiting:
        facts.append(("outbox", f"{count(found.outbox_waiting)} waiting"))
    facts += [
        (row.channel, adapter_text(row, is_failure_told=row.state not in _GOOD_ADAPTER))
        for row in found.adapters
    ]
    return [*facts, ("daemon", f"process {found.pid}"), ("home", str(home.root))]


def _sessions(found: admin_pb2.StatusResponse) -> str:
    return (
        f"{count(found.live_sessions)} live, {count(passive(found))} passive,"
        f" {count(found.quarantined_sessions)} quarantined"
    )


def _memory(found: admin_pb2.StatusResponse) -> str:
    if not found.daemon_memory_bytes:
        return "not known"
    sessions = f", sessions {size(found.sessions_memory_bytes)}" if found.live_sessions else ""
    return f"daemon {size(found.daemon_memory_bytes)}{sessions}"
