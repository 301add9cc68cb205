"""`daemon start|stop|restart` with real processes in the daemon's place."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from netclaw.cli import daemon_control
from netclaw.cli.holder import lock_owner
from netclaw.config.home import Home
from tests.cli.runner import Cli

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def program(home: Home, short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The program that `daemon start` starts; whatever runs at the end is killed."""
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


def is_alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.requirement("cli.daemon-start")
@pytest.mark.requirement("cli.daemon-stop")
def test_start_and_stop(cli: Cli, home: Home) -> None:
    row = cli.ok("daemon", "start", "--json").json
    assert row["state"] == "running"
    assert lock_owner(home) == row["pid"]
    assert os.getsid(row["pid"]) == row["pid"], "it is detached from this terminal"
    again = cli.ok("daemon", "start")
    assert "was already running" in again.out
    stopped = cli.ok("daemon", "stop", "--json").json
    assert stopped == {"state": "stopped", "pid": row["pid"], "killed": False}
    assert not is_alive(row["pid"])
    assert cli.ok("daemon", "stop", "--json").json == {"state": "stopped"}
    assert "no daemon was running" in cli.ok("daemon", "stop").out


@pytest.mark.requirement("cli.daemon-start")
def test_the_reason_of_a_failed_start_is_passed_on(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED", "refuse")
    result = cli("daemon", "start", "--json")
    assert result.code == 1
    assert result.json["error"]["code"] == "schema_newer"
    assert result.err.endswith("[FAIL] daemon start: Another schema.\n  fix: Use the newer one.\n")


@pytest.mark.requirement("cli.daemon-start")
def test_a_start_that_dies_without_words(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED", "die")
    result = cli("daemon", "start")
    assert result.code == 1
    assert "ended at once with exit code 3" in result.err
    assert "netclawd.out" in result.err


def test_a_program_that_cannot_be_started(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETCLAW_DAEMON_PATH", "/nowhere/netclawd")
    result = cli("daemon", "start")
    assert result.code == 1
    assert "/nowhere/netclawd cannot be started" in result.err


@pytest.mark.requirement("cli.daemon-stop")
def test_a_daemon_that_does_not_stop_is_killed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED", "ignore-term")
    pid = cli.ok("daemon", "start", "--json").json["pid"]
    monkeypatch.setattr(daemon_control, "CLI_KILL_S", 0.3)
    monkeypatch.setattr(daemon_control, "PROGRESS_AFTER_S", 0.1)
    result = cli.ok("daemon", "stop", "--json")
    assert result.json == {"state": "stopped", "pid": pid, "killed": True}
    assert "waiting for sessions" in result.err
    assert "killing it" in result.err
    assert not is_alive(pid)


def test_the_daemons_own_budget_is_waited_for(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.ok("config", "set", "Daemon.ShutdownSeconds", "100")
    from netclaw.cli.app import App

    assert daemon_control._configured_limit(App()) == 115
    monkeypatch.setenv("NETCLAW_Daemon__Port", "x")
    assert daemon_control._configured_limit(App()) == daemon_control.CLI_KILL_S


def test_a_daemon_that_holds_the_home_and_does_not_answer(
    cli: Cli, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED", "deaf")
    with monkeypatch.context() as impatient:
        impatient.setattr(daemon_control, "READY_TIMEOUT_S", 1.5)
        slow = cli("daemon", "start")
    assert slow.code == 1
    assert "is not ready after" in slow.err
    while (owner := lock_owner(home)) is None:
        time.sleep(0.02)
    with monkeypatch.context() as impatient:
        impatient.setattr(daemon_control, "STATUS_TIMEOUT_S", 0.5)
        impatient.setattr("netclaw.cli.client.PATIENCE_S", 0.5)
        second = cli("daemon", "start", "--json")
        assert second.json["error"]["code"] == "already_running"
        assert cli("daemon", "status", "--json").json["error"]["code"] == "timeout"
    assert cli.ok("daemon", "stop", "--json").json["pid"] == owner


@pytest.mark.requirement("cli.daemon-restart")
def test_restart(cli: Cli) -> None:
    first = cli.ok("daemon", "restart", "--json").json
    assert first["generation"] == 1, "it starts one if none runs"
    second = cli.ok("daemon", "restart", "--json").json
    assert (second["pid"], second["generation"]) == (first["pid"], 2)
    assert "generation 3" in cli.ok("daemon", "restart").out
    cli.ok("daemon", "stop")


def test_a_restart_that_ends_the_daemon_is_noticed(cli: Cli) -> None:
    from netclaw.cli.app import App
    from netclaw.core.errors import DaemonDownError

    pid = cli.ok("daemon", "start", "--json").json["pid"]
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            break
    with pytest.raises(DaemonDownError, match="ended instead of restarting"):
        daemon_control.wait_generation(App(), 2, pid)


def test_the_program_beside_this_python_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    from netclaw.cli.app import App

    monkeypatch.delenv("NETCLAW_DAEMON_PATH")
    (program_path,) = daemon_control.daemon_argv(App())
    assert Path(program_path).name == "netclawd"
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert daemon_control.daemon_argv(App())[1:] == ["-m", "netclaw.supervisor.main"]
