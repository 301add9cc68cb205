"""Brings a changed configuration into force in a running daemon."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from netclaw.cli.app import App, JsonRow
from netclaw.cli.client import DaemonClient
from netclaw.cli.holder import UnreachableDaemonError
from netclaw.core.errors import DaemonDownError, DrainingError, UnauthenticatedError

if TYPE_CHECKING:
    from netclaw.wire.v1.admin_pb2 import ReloadResponse, StatusResponse

RELOAD_TIMEOUT_S = 60.0
RETRY_PAUSE_S = 0.2
_BETWEEN_LIVES = (UnreachableDaemonError, DrainingError, UnauthenticatedError)
"""What a daemon says while it restarts, perhaps for somebody else's change."""


def reload_daemon(app: App) -> JsonRow:
    """Let a running daemon read its configuration again; returns when the change is in force.

    The row says how: `applied` is `next-start` without a daemon, else `unchanged`, `live` or
    `restarted`. A daemon that is restarting is waited for: asking twice is harmless. Raises what
    the daemon has against the new configuration.
    """
    try:
        status, answer, has_met_restart = _ask_patiently(app)
    except UnreachableDaemonError:
        raise
    except DaemonDownError:
        return {"applied": "next-start"}
    if answer.restarting:
        from netclaw.cli.daemon_control import wait_generation

        found = wait_generation(app, answer.generation + 1, status.pid)
        return {"applied": "restarted", "generation": found.generation}
    if has_met_restart:  # the daemon that came back began with the change
        return {"applied": "restarted", "generation": status.generation}
    return {"applied": "live" if answer.changed else "unchanged"}


def _ask_patiently(app: App) -> tuple[StatusResponse, ReloadResponse, bool]:
    """The daemon, what its reload did, and whether it had to be waited for."""
    deadline = time.monotonic() + RELOAD_TIMEOUT_S
    has_met_restart = False
    while True:
        try:
            return (*_ask(app), has_met_restart)
        except _BETWEEN_LIVES:
            if time.monotonic() >= deadline:
                raise
        has_met_restart = True
        time.sleep(RETRY_PAUSE_S)


def _ask(app: App) -> tuple[StatusResponse, ReloadResponse]:
    """The daemon as it is, and what its reload did."""
    with DaemonClient(app.home) as client:
        from netclaw.wire.v1.admin_pb2 import ReloadRequest, StatusRequest

        status = client.call(client.admin.Status, StatusRequest())
        answer = client.call(client.admin.Reload, ReloadRequest(), timeout_s=RELOAD_TIMEOUT_S)
    return status, answer
