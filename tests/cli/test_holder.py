"""A home that a daemon holds: hung, restarting, or with its socket or token lost."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netclaw.cli import client as client_module
from netclaw.cli.client import DaemonClient
from netclaw.cli.holder import UnreachableDaemonError, lock_owner
from netclaw.config.home import Home
from netclaw.core.errors import DrainingError, UnauthenticatedError
from netclaw.wire.v1.admin_pb2 import ReloadResponse, StatusRequest
from tests.cli import scripted_daemon
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon
from tests.stopping import stop

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def held(home: Home) -> Iterator[int]:
    """The home's lock, held by this process as a daemon holds it."""
    home.root.mkdir(parents=True, exist_ok=True)
    lock = os.open(home.lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    yield os.getpid()
    os.close(lock)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that holds its home is given little time."""
    monkeypatch.setattr(client_module, "PATIENCE_S", 0.2)


@pytest.mark.requirement("cli.held-home")
@pytest.mark.parametrize("lost", ["netclawd.sock", "operator.token"])
@pytest.mark.usefixtures("impatient")
def test_a_lost_way_in_is_no_missing_daemon(
    cli: Cli, daemon: ScriptedDaemon, held: int, lost: str
) -> None:
    (daemon.home.run_dir / lost).unlink()
    result = cli("sessions", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "daemon_down")
    assert f"Process {held} holds this home, but" in result.err
    assert lost in result.err
    assert "netclaw daemon restart" in result.err
    status = cli("status", "--json")
    assert (status.code, status.json["overall"]) == (1, "hung")
    assert status.json["daemon"] == {"state": "hung", "pid": held}
    assert "netclaw is hung" in cli("status").out
    assert cli("daemon", "status", "--json").json["error"]["code"] == "timeout"
    started = cli("daemon", "start", "--json")
    assert started.json["error"]["code"] == "already_running"
    assert "netclaw daemon restart" in started.err
    checks = {check["name"]: check for check in cli("doctor", "--json").json["checks"]}
    assert checks["daemon"]["verdict"] == "FAIL"
    assert lost in checks["daemon"]["message"]


@pytest.mark.requirement("cli.held-home")
@pytest.mark.usefixtures("held")
def test_a_daemon_that_comes_back_is_waited_for(cli: Cli, home: Home) -> None:
    made = ScriptedDaemon(home)
    back = threading.Timer(0.3, made.start)
    back.start()
    try:
        assert cli.ok("sessions", "--json").json == []
    finally:
        back.join()
        made.stop()


@pytest.mark.requirement("cli.held-home")
def test_a_token_that_was_replaced_meanwhile_is_read_again(
    daemon: ScriptedDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DaemonClient(daemon.home) as client:
        monkeypatch.setattr(scripted_daemon, "TOKEN", "of the next daemon")
        with pytest.raises(UnauthenticatedError):
            client.call(client.admin.Status, StatusRequest())
        assert len(daemon.requests("Status")) == 1, "the same token is not tried again"
        daemon.home.operator_token.write_text("of the next daemon")
        assert client.call(client.admin.Status, StatusRequest()).pid == 4242


@pytest.mark.requirement("cli.held-home")
def test_a_connection_that_breaks_off_in_a_restart_says_so(
    daemon: ScriptedDaemon, held: int
) -> None:
    with DaemonClient(daemon.home) as client:
        daemon.stop()
        with pytest.raises(UnreachableDaemonError, match=f"process {held}.* is restarting"):
            client.call(client.admin.Status, StatusRequest())


@pytest.mark.requirement("cli.held-home")
@pytest.mark.parametrize("method", ["Status", "Reload"])
def test_a_change_waits_for_a_restart_that_others_began(
    cli: Cli, daemon: ScriptedDaemon, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr("netclaw.cli.reloading.RETRY_PAUSE_S", 0.01)
    daemon.refuse[method] = DrainingError("The daemon is restarting.")
    note: Any = daemon.note

    def noting(name: str, request: Any, context: Any) -> None:
        if len(daemon.requests(method)) >= 2:
            daemon.refuse.pop(method, None)
            daemon.status.generation = 2
        note(name, request, context)

    daemon.note = noting  # type: ignore[method-assign]
    daemon.replies["Reload"] = ReloadResponse(changed=False)
    row = cli.ok("config", "set", "Tools.ShellMode", "Off", "--json").json
    assert (row["applied"], row["generation"]) == ("restarted", 2)


@pytest.fixture
def program(home: Home, short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A real process in the daemon's place; whatever runs at the end is killed."""
    script = short_tmp / "netclawd"
    script.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
        "from tests.cli.scripted_main import main\nmain()\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("NETCLAW_DAEMON_PATH", str(script))
    yield
    owner = lock_owner(home)
    if owner is not None:
        os.kill(owner, signal.SIGKILL)


@pytest.mark.requirement("cli.held-home")
@pytest.mark.usefixtures("program")
def test_a_stopped_process_is_hung_not_down(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = cli.ok("daemon", "start", "--json").json["pid"]
    stop(pid)
    with monkeypatch.context() as impatient:  # only while there is nothing to wait for
        for module in ("daemon_control", "commands.status"):
            impatient.setattr(f"netclaw.cli.{module}.STATUS_TIMEOUT_S", 0.5)
        status = cli("status", "--json")
        assert (status.code, status.json["overall"]) == (1, "hung")
        assert "does not answer" in status.json["reasons"][0]
        assert cli("daemon", "status", "--json").json["error"]["code"] == "timeout"
    os.kill(pid, signal.SIGCONT)
    cli.ok("daemon", "stop")


@pytest.mark.requirement("cli.daemon-restart")
@pytest.mark.usefixtures("program", "impatient")
def test_a_restart_mends_a_lost_socket(cli: Cli, home: Home) -> None:
    first = cli.ok("daemon", "start", "--json").json
    home.socket.unlink()
    second = cli.ok("daemon", "restart", "--json")
    assert second.json["pid"] != first["pid"]
    assert "Stopping and starting it instead" in second.err
    cli.ok("sessions")
    cli.ok("daemon", "stop")
