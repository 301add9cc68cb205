"""Checks of the daemon and of what only it, or nobody, may open: lock, socket, database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netclaw.cli.client import DaemonClient
from netclaw.cli.daemon_control import STATUS_TIMEOUT_S
from netclaw.cli.doctor.findings import Finding, failed, passed, warned
from netclaw.cli.holder import UnreachableDaemonError
from netclaw.cli.words import duration, size
from netclaw.config.home import Home
from netclaw.core.errors import DaemonDownError, NetclawError

if TYPE_CHECKING:
    from netclaw.wire.v1.admin_pb2 import StatusResponse

STORAGE_TIMEOUT_S = 300.0


@dataclass(slots=True)
class DaemonLook:
    """What is known of the daemon; `status` is None when none answers."""

    findings: list[Finding]
    status: StatusResponse | None = None


def look_at_daemon(home: Home) -> DaemonLook:
    """Whether a daemon runs and answers, and what it says."""
    try:
        with DaemonClient(home) as client:
            from netclaw.wire.v1.admin_pb2 import StatusRequest

            status = client.call(client.admin.Status, StatusRequest(), timeout_s=STATUS_TIMEOUT_S)
    except UnreachableDaemonError as error:
        return DaemonLook([failed("daemon", error.sentence, error.fix)])
    except DaemonDownError:
        return DaemonLook([_stopped(home)])
    except NetclawError as error:
        return DaemonLook([failed("daemon", error.sentence, error.fix)])
    text = f"{status.state}, process {status.pid}, up {duration(status.uptime_s)}."
    return DaemonLook([passed("daemon", text), *_complaints(status)], status)


def _stopped(home: Home) -> Finding:
    if home.socket.exists():
        return passed("daemon", "Stopped; a stale socket is left, the next start replaces it.")
    return passed("daemon", "Stopped.")


def _complaints(status: StatusResponse) -> Iterator[Finding]:
    if status.degraded_reason and not status.main_model:
        yield failed("model in use", status.degraded_reason, "Run `netclaw init --force`.")
    elif status.degraded_reason:
        yield failed("daemon in use", status.degraded_reason, "Correct it; the daemon reads again.")
    if status.config_problem:
        yield warned(
            "configuration in use",
            f"The daemon goes on with what it read before: {status.config_problem}",
            "Correct the file; `netclaw config validate` says what is wrong with it.",
        )
    if status.storage_state not in ("", "ok"):
        yield failed("storage in use", f"{status.storage_state}.", "See the disk and the log.")
    if status.signals_problem:
        yield warned(
            "signal log",
            f"Sessions go on, but learn nothing of each other: {status.signals_problem}",
            "See the disk and the log; if it stays so, restore a backup of the database.",
        )
    if status.quarantined_sessions:
        yield warned(
            "sessions",
            f"{status.quarantined_sessions} are quarantined.",
            "See `netclaw sessions`, then `netclaw sessions restart ID`.",
        )


def check_storage(home: Home, *, is_running: bool) -> Finding:
    """A full integrity check, by the daemon if one runs, else with the home's lock held."""
    if not home.database.exists():
        return passed("storage", "No database yet.")
    try:
        complaint = _ask_daemon(home) if is_running else _check_offline(home)
    except NetclawError as error:
        return failed("storage", error.sentence, error.fix)
    if complaint:
        return failed(
            "storage",
            f"The database is damaged: {complaint}.",
            "Keep a copy of netclaw.db, then restore a backup.",
        )
    held = size(home.database.stat().st_size)
    return passed("storage", f"The database is sound ({held}).")


def _ask_daemon(home: Home) -> str:
    with DaemonClient(home) as client:
        from netclaw.wire.v1.admin_pb2 import CheckStorageRequest

        answer = client.call(
            client.admin.CheckStorage, CheckStorageRequest(), timeout_s=STORAGE_TIMEOUT_S
        )
    return "" if answer.ok else (answer.detail or "unknown")


def _check_offline(home: Home) -> str:
    from netclaw.store.health import check_file
    from netclaw.store.lock import HomeLock

    with HomeLock.acquire(home.lock):
        return check_file(home.database, is_full=True) or ""
