"""How commands fail, and how they end when someone stops listening."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from netclaw.cli.main import run
from netclaw.config.home import Home
from netclaw.core.errors import ErrorCode, NetclawError, NotFoundError, UnauthenticatedError
from netclaw.wire.v1.gateway_pb2 import GetHistoryResponse, HistoryItem
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon

PROGRAM = [sys.executable, "-m", "netclaw.cli.main"]


@pytest.mark.requirement("cli.usage")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["sessions", "nonsense"], "No such command 'nonsense'"),
        (["status", "--nonsense"], "No such option"),
        (["sessions", "show"], "Missing argument"),
        (["sessions", "inject", "a", "b"], "Missing option"),
        (["sessions", "journal", "a", "--since", "x"], "is not a valid"),
        (["sessions", "journal", "a", "--since", "99999999999999999999"], "is not in the range"),
        (["sessions", "attach", "a", "--after", "99999999999999999999"], "is not in the range"),
        (["sessions", "history", "a", "--limit", "99999999999999999999"], "is not in the range"),
        (["ledger", "a", "--limit", "99999999999999999999"], "is not in the range"),
        (["completion", "tcsh"], "is not one of"),
        (["init", "--provider", "nobody"], "is not one of"),
    ],
)
def test_wrong_usage(cli: Cli, words: list[str], said: str) -> None:
    result = cli(*words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("[FAIL] ")
    assert said in result.err
    assert "--help" in result.err
    with_json = cli(*words, "--json")
    assert with_json.code == 2
    assert with_json.json["error"]["code"] == "invalid_argument"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["chat", "-p"], "chat"),
        (["sessions", "attach", "a", "--after"], "sessions attach"),
        (["init", "--non-interactive"], "init"),
    ],
)
def test_wrong_usage_names_the_command_and_its_help(cli: Cli, words: list[str], named: str) -> None:
    result = cli(*words)
    assert result.code == 2
    assert result.err.startswith(f"[FAIL] {named}: ")
    assert f"fix: `netclaw {named} --help`" in result.err


@pytest.mark.requirement("cli.daemon-down")
@pytest.mark.parametrize(
    "words",
    [
        ["sessions"],
        ["sessions", "show", "x"],
        ["sessions", "history", "x"],
        ["sessions", "journal", "x"],
        ["sessions", "attach", "x"],
        ["sessions", "kill", "x"],
        ["ledger", "x"],
        ["chat", "-p", "hi"],
    ],
)
def test_no_daemon(cli: Cli, words: list[str]) -> None:
    result = cli(*words, "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "daemon_down")
    assert "Start it with `netclaw daemon start`." in result.err


@pytest.mark.requirement("cli.errors")
def test_an_error_has_code_sentence_fix_and_reference(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.refuse["GetSession"] = NotFoundError("There is none.", fix="Look.", reference="r9")
    result = cli("sessions", "show", "x", "--json")
    assert result.code == 1
    assert result.err == "[FAIL] sessions show: There is none. (reference r9)\n  fix: Look.\n"
    assert result.json == {
        "error": {
            "code": "not_found",
            "message": "There is none.",
            "fix": "Look.",
            "reference": "r9",
        }
    }


def test_a_stale_token_is_no_mystery(cli: Cli, daemon: ScriptedDaemon, home: Home) -> None:
    home.operator_token.write_text("another daemon's")
    assert cli("sessions", "--json").json["error"]["code"] == "unauthenticated"
    home.operator_token.unlink()
    assert cli("sessions", "--json").json["error"]["code"] == "daemon_down"
    home.operator_token.mkdir()
    assert cli("sessions", "--json").json["error"]["code"] == "unauthenticated"
    daemon.refuse["ListSessions"] = UnauthenticatedError("No.")


def test_a_stale_socket_is_no_daemon(cli: Cli, home: Home) -> None:
    import socket

    home.run_dir.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home.socket))
    assert home.socket.exists()
    assert cli("sessions", "--json").json["error"]["code"] == "daemon_down"


def test_a_home_whose_socket_path_is_too_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("NETCLAW_HOME", str(tmp_path / ("x" * 120)))
    assert run(["status"]) == 1
    assert "too long for a socket" in capsys.readouterr().err


def test_a_fault_of_ours_shows_no_trace(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, home: Home
) -> None:
    assert home is not None

    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("netclaw.cli.commands.version.platform.python_version", broken)
    result = cli("version", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, ErrorCode.INTERNAL)
    assert "secret detail" not in result.err + result.out
    monkeypatch.setenv("NETCLAW_DEBUG", "1")
    assert "secret detail" in cli("version", "--json").err


def test_a_call_that_the_daemon_does_not_have(cli: Cli, daemon: ScriptedDaemon) -> None:
    from netclaw.cli.client import DaemonClient
    from netclaw.wire.v1.gateway_pb2 import FindInputRequest

    assert cli is not None
    with (
        DaemonClient(daemon.home) as client,
        pytest.raises(NetclawError, match="refused the call"),
    ):
        client.call(client.gateway.FindInput, FindInputRequest())


@pytest.mark.requirement("cli.bad-input")
def test_an_argument_that_is_no_utf_8(home: Home) -> None:
    done = subprocess.run(
        [*[part.encode() for part in PROGRAM], b"chat", b"-p", b"\xff\xfe"],
        capture_output=True,
        check=False,
        env={**os.environ, "NETCLAW_HOME": str(home.root)},
    )
    assert done.returncode == 2
    assert b"not valid UTF-8" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.requirement("cli.clean-ends")
def test_a_reader_that_left_is_no_failure(daemon: ScriptedDaemon) -> None:
    items = [HistoryItem(role="user", text="x" * 10_000) for _ in range(100)]
    daemon.replies["GetHistory"] = GetHistoryResponse(items=items)
    with subprocess.Popen(
        [*PROGRAM, "sessions", "history", "notes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        said = process.stderr.read()
        code = process.wait(timeout=15)
    assert (code, said) == (0, b"")


@pytest.mark.requirement("cli.clean-ends")
@pytest.mark.parametrize(
    ("words", "code"),
    [(["sessions", "attach", "notes", "--json"], 0), (["chat", "-p", "hi"], 130)],
)
def test_ctrl_c_ends_cleanly(daemon: ScriptedDaemon, words: list[str], code: int) -> None:
    daemon.row("notes")
    daemon.script = lambda _request, _input_id: []
    method = "Attach" if "attach" in words else "SendUserMessage"
    with subprocess.Popen(
        [*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        wait_for_call(daemon, method)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=15)
    assert process.returncode == code, said
    assert b"Traceback" not in said


def wait_for_call(daemon: ScriptedDaemon, method: str) -> None:
    """Return once the daemon was called so."""
    import time

    deadline = time.monotonic() + 15
    while not daemon.requests(method):
        assert time.monotonic() < deadline, f"{method} was never called"
        time.sleep(0.01)


@pytest.mark.requirement("cli.light")
@pytest.mark.parametrize(
    ("words", "absent"),
    [
        (["status"], ["pydantic", "rich", "prompt_toolkit", "aiohttp", "apsw", "cryptography"]),
        (["chat", "-p", "hi"], ["pydantic", "rich", "prompt_toolkit", "aiohttp", "apsw"]),
        (["sessions"], ["pydantic", "rich", "prompt_toolkit", "aiohttp", "apsw"]),
        (["--help"], ["grpc", "pydantic", "rich", "netclaw.wire"]),
        (["version"], ["grpc", "pydantic", "rich", "netclaw.wire"]),
        (["config", "--help"], ["grpc", "pydantic"]),
    ],
)
def test_a_command_loads_only_what_it_needs(
    daemon: ScriptedDaemon, words: list[str], absent: list[str]
) -> None:
    code = (
        "import json, sys; from netclaw.cli.main import run;"
        f"code = run({words!r}); sys.stderr.write(json.dumps(sorted(sys.modules))); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=15
    )
    assert done.returncode == 0, done.stderr[-500:]
    loaded = json.loads(done.stderr.splitlines()[-1])
    assert not [name for name in absent if name in loaded]
    assert daemon is not None
