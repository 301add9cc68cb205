"""Starts, stops and restarts the daemon of a home, and says whether one runs."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netclaw.cli.app import App
from netclaw.cli.client import DaemonClient, is_listening
from netclaw.cli.holder import UnreachableDaemonError, lock_owner
from netclaw.config.home import Home, make_private_folder
from netclaw.core.errors import (
    ERROR_CLASSES,
    AlreadyRunningError,
    DaemonDownError,
    ErrorCode,
    InternalError,
    NetclawError,
    OperationTimeoutError,
    StorageError,
    UnauthenticatedError,
)

if TYPE_CHECKING:
    from netclaw.wire.v1 import admin_pb2

DAEMON_PATH_VARIABLE = "NETCLAW_DAEMON_PATH"
READY_TIMEOUT_S = 60.0
RESTART_TIMEOUT_S = 120.0
"""Drain, server stop, start again; with active child runs every budget is 18 s longer."""
STATUS_TIMEOUT_S = 5.0
POLL_S = 0.02
PROGRESS_AFTER_S = 1.0
PROGRESS_EVERY_S = 5.0
CLI_KILL_S = 45.0
ASK_CONFIG_AFTER_S = 20.0
KILL_WAIT_S = 10.0
OUTPUT_NAME = "netclawd.out"
OUTPUT_TAIL_BYTES = 16 * 1024


def daemon_argv(app: App) -> list[str]:
    """The program to start: `NETCLAW_DAEMON_PATH`, else the `netclawd` beside this Python."""
    named = app.environ.get(DAEMON_PATH_VARIABLE)
    if named:
        return [named]
    beside = Path(sys.executable).parent / "netclawd"
    if beside.exists():
        return [str(beside)]
    return [sys.executable, "-m", "netclaw.supervisor.main"]


def query_status(home: Home, *, patience_s: float | None = None) -> admin_pb2.StatusResponse:
    """What the daemon says of itself, once it is back if it is restarting.

    Raises `DaemonDownError` when none runs, `UnreachableDaemonError` or `OperationTimeoutError`
    when one does and does not answer.
    """
    with DaemonClient(home, patience_s=patience_s) as client:
        from netclaw.wire.v1.admin_pb2 import StatusRequest

        return client.call(client.admin.Status, StatusRequest(), timeout_s=STATUS_TIMEOUT_S)


def try_status(home: Home) -> admin_pb2.StatusResponse | None:
    """The same, None while no daemon answers."""
    try:
        return query_status(home, patience_s=0)
    except (DaemonDownError, UnauthenticatedError, OperationTimeoutError):
        return None  # between two daemons the token on disk may be the old one


class Waiting:
    """Polls with a deadline and tells a person now and then that it goes on."""

    def __init__(self, app: App, what: str, timeout_s: float) -> None:
        self._app = app
        self._what = what
        self._began = time.monotonic()
        self._timeout_s = timeout_s
        self._next_note_s = PROGRESS_AFTER_S

    @property
    def elapsed_s(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began

    def is_over(self) -> bool:
        """Whether the deadline has passed; says so far, if it is time."""
        elapsed = self.elapsed_s
        if elapsed >= self._next_note_s:
            self._app.note(f"{self._what} ({elapsed:.0f} s)")
            self._next_note_s += PROGRESS_EVERY_S
        return elapsed >= self._timeout_s

    def pause(self) -> None:
        """A short pause between two looks."""
        time.sleep(POLL_S)


def start(app: App) -> tuple[admin_pb2.StatusResponse, bool]:
    """Start a detached daemon and return once it is ready; False if one was running already.

    Raises the error that the daemon gave when it ended instead.
    """
    home = app.home
    running = _running(home)
    if running is not None:
        return running, False
    make_private_folder(home.root)
    make_private_folder(home.logs_dir)
    output = home.logs_dir / OUTPUT_NAME
    process = _spawn(app, output)
    try:
        return _until_ready(app, process, output), True
    finally:
        if process.returncode is None:
            process.returncode = 0  # it lives on without us: nobody is going to wait for it


def _running(home: Home) -> admin_pb2.StatusResponse | None:
    """The daemon that runs already, None if none does.

    Raises `AlreadyRunningError` when a process holds the home and does not answer.
    """
    try:
        return query_status(home)
    except (UnreachableDaemonError, UnauthenticatedError, OperationTimeoutError) as error:
        if lock_owner(home) is None:
            raise
        raise AlreadyRunningError(error.sentence, fix=UnreachableDaemonError.default_fix) from None
    except DaemonDownError:
        return None


def _until_ready(
    app: App, process: subprocess.Popen[bytes], output: Path
) -> admin_pb2.StatusResponse:
    home = app.home
    waiting = Waiting(app, "waiting for the daemon to be ready", READY_TIMEOUT_S)
    while not waiting.is_over():
        if process.poll() is not None:
            raise _startup_error(output, process.returncode)
        status = try_status(home) if is_listening(home) else None
        if status is not None and status.pid == process.pid and status.state == "running":
            return status
        waiting.pause()
    raise OperationTimeoutError(
        f"The daemon (process {process.pid}) is not ready after {READY_TIMEOUT_S:.0f} s.",
        fix=f"Look into {output} and the logs beside it.",
    )


def _spawn(app: App, output: Path) -> subprocess.Popen[bytes]:
    argv = daemon_argv(app)
    environ = {key: value for key, value in app.environ.items() if key != "NOTIFY_SOCKET"}
    environ["NETCLAW_HOME"] = str(app.home.root)
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageError(f"{output} cannot be written: {error.strerror}.") from None
    with os.fdopen(descriptor, "wb") as log:
        try:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=environ,
                cwd=app.home.root,
            )
        except OSError as error:
            raise InternalError(
                f"The daemon {argv[0]} cannot be started: {error.strerror}.",
                fix=f"Install netclaw again, or correct {DAEMON_PATH_VARIABLE}.",
            ) from None


def _startup_error(output: Path, code: int) -> NetclawError:
    """What the daemon itself printed before it ended, as one error."""
    try:
        lines = output.read_bytes()[-OUTPUT_TAIL_BYTES:].decode("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    said = next((line for line in reversed(lines) if line.startswith("[FAIL]")), "")
    if not said:
        return InternalError(
            f"The daemon ended at once with exit code {code}.", fix=f"Look into {output}."
        )
    fixes = [line.strip() for line in lines[lines.index(said) + 1 :]]
    fix = next((line.removeprefix("fix: ") for line in fixes if line.startswith("fix:")), "")
    sentence = said.partition(": ")[2] or said
    return _named_error(fixes, sentence, fix)


def _named_error(lines: list[str], sentence: str, fix: str) -> NetclawError:
    code = next((line.removeprefix("code: ") for line in lines if line.startswith("code:")), "")
    kind = ERROR_CLASSES.get(ErrorCode(code)) if code in set(ErrorCode) else None
    if kind is None or kind.__init__ is not NetclawError.__init__:
        return InternalError(sentence, fix=fix)
    return kind(sentence, fix=fix)


@dataclass(frozen=True, slots=True)
class Stopped:
    """How a stop went."""

    pid: int
    was_killed: bool


def stop(app: App) -> Stopped | None:
    """Stop the daemon gracefully, by force when it takes too long; None if none ran."""
    home = app.home
    pid = _find_pid(home)
    if pid is None:
        return None
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    try:
        if _find_pid(home) != pid:
            return None  # it ended, and the number may belong to someone else by now
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        if _wait_dead(app, descriptor):
            return Stopped(pid, was_killed=False)
        app.note("the daemon did not stop in time; killing it")
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        if not select.select([descriptor], [], [], KILL_WAIT_S)[0]:
            raise OperationTimeoutError(f"Process {pid} cannot be killed.")
        return Stopped(pid, was_killed=True)
    except ProcessLookupError:
        return Stopped(pid, was_killed=False)
    except PermissionError:
        raise UnauthenticatedError(f"This user may not stop process {pid}.") from None
    finally:
        os.close(descriptor)


def _find_pid(home: Home) -> int | None:
    owner = lock_owner(home)
    if owner is not None:
        return owner
    status = try_status(home) if is_listening(home) else None
    return status.pid if status is not None else None


def _wait_dead(app: App, descriptor: int) -> bool:
    limit_s = CLI_KILL_S
    waiting = Waiting(app, "waiting for sessions to reach a safe point", float("inf"))
    while not select.select([descriptor], [], [], 0.25)[0]:
        waiting.is_over()
        if waiting.elapsed_s > ASK_CONFIG_AFTER_S and limit_s == CLI_KILL_S:
            limit_s = _configured_limit(app)
        if waiting.elapsed_s > limit_s:
            return False
    return True


def _configured_limit(app: App) -> float:
    """A daemon with a longer budget of its own is given that much more time."""
    from netclaw.config.load import load_config

    try:
        return load_config(app.home, app.environ).daemon.cli_kill_s
    except NetclawError:
        return CLI_KILL_S


def restart(app: App) -> admin_pb2.StatusResponse:
    """Restart the daemon in place and return once the next generation is ready.

    One that cannot be asked, because its socket or token is lost or it hangs, is stopped by its
    lock and started anew; with none running one is started.
    """
    home = app.home
    from netclaw.wire.v1.admin_pb2 import ShutdownRequest, StatusRequest

    before: admin_pb2.StatusResponse | None = None
    try:
        with DaemonClient(home) as client:
            before = client.call(client.admin.Status, StatusRequest(), timeout_s=STATUS_TIMEOUT_S)
            client.call(client.admin.Shutdown, ShutdownRequest(restart=True))
    except (DaemonDownError, OperationTimeoutError) as error:
        if before is not None and isinstance(error, UnreachableDaemonError):
            return wait_generation(app, before.generation + 1, before.pid)  # it is under way
        if lock_owner(home) is not None:
            app.note(f"{error.sentence} Stopping and starting it instead.")
            stop(app)
        return start(app)[0]
    return wait_generation(app, before.generation + 1, before.pid)


def wait_generation(app: App, generation: int, pid: int) -> admin_pb2.StatusResponse:
    """Return once a daemon of at least this generation runs.

    Raises `DaemonDownError` when the restarting process ended, `OperationTimeoutError` when it
    takes longer than every budget.
    """
    home = app.home
    waiting = Waiting(app, "waiting for the daemon to restart", RESTART_TIMEOUT_S)
    while not waiting.is_over():
        status = try_status(home) if is_listening(home) else None
        if status is not None and status.state == "running":
            if status.generation >= generation or status.pid != pid:
                return status
        elif status is None and not Path(f"/proc/{pid}").exists():
            raise DaemonDownError(
                "The daemon ended instead of restarting.",
                fix=f"Look into {home.logs_dir}, then run `netclaw daemon start`.",
            )
        waiting.pause()
    raise OperationTimeoutError(f"The daemon did not restart within {RESTART_TIMEOUT_S:.0f} s.")
