"""Brings a changed configuration into force in a running daemon."""

from __future__ import annotations

from netclaw.cli.app import App, JsonRow
from netclaw.cli.client import DaemonClient
from netclaw.core.errors import DaemonDownError

RELOAD_TIMEOUT_S = 60.0


def reload_daemon(app: App) -> JsonRow:
    """Let a running daemon read its configuration again; returns when the change is in force.

    The row says how: `applied` is `next-start` without a daemon, else `unchanged`, `live` or
    `restarted`. Raises what the daemon has against the new configuration.
    """
    try:
        with DaemonClient(app.home) as client:
            from netclaw.wire.v1.admin_pb2 import ReloadRequest, StatusRequest

            pid = client.call(client.admin.Status, StatusRequest()).pid
            answer = client.call(client.admin.Reload, ReloadRequest(), timeout_s=RELOAD_TIMEOUT_S)
    except DaemonDownError:
        return {"applied": "next-start"}
    if not answer.changed:
        return {"applied": "unchanged"}
    if not answer.restarting:
        return {"applied": "live"}
    from netclaw.cli.daemon_control import wait_generation

    found = wait_generation(app, answer.generation + 1, pid)
    return {"applied": "restarted", "generation": found.generation}
