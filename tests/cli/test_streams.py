"""Standard streams that are closed or take nothing: a sentence at most, never a trace."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from netclaw.config.home import Home
from tests.cli.scripted_daemon import ScriptedDaemon

PROGRAM = f"{sys.executable} -m netclaw.cli.main"
FULL = "The output could not be written: No space left on device."


def shell(line: str) -> tuple[int, str, str]:
    """Run the program as a shell does, with its redirections; exit code and both outputs."""
    done = subprocess.run(
        ["/bin/sh", "-c", f"{PROGRAM} {line}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=15,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.requirement("cli.clean-ends")
@pytest.mark.parametrize(
    "line", ["version", "version --json", "--help", "daemon --help", "config schema"]
)
def test_an_output_that_takes_nothing_is_one_sentence(home: Home, line: str) -> None:
    assert not home.root.exists()
    code, _, said = shell(f"{line} > /dev/full")
    assert code == 1
    assert said.count(FULL) == 1
    assert said.count("\n") == 2, said


@pytest.mark.requirement("cli.clean-ends")
@pytest.mark.parametrize("line", ["status --json", "sessions --json", "nonsense --json"])
def test_a_failure_that_cannot_be_printed_as_json_is_still_said(home: Home, line: str) -> None:
    assert not home.root.exists()
    code, _, said = shell(f"{line} > /dev/full")
    assert code == (2 if "nonsense" in line else 1)
    assert "[FAIL]" in said
    assert "Traceback" not in said
    assert "Exception ignored" not in said


@pytest.mark.requirement("cli.clean-ends")
@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "2>/dev/full", "<&- >&-", ">&- 2>&-"])
@pytest.mark.parametrize(("line", "code"), [("version", 0), ("sessions", 1), ("nonsense", 2)])
def test_streams_that_are_closed_change_nothing(
    home: Home, closed: str, line: str, code: int
) -> None:
    assert not home.root.exists()
    found, _, said = shell(f"{line} {closed}")
    assert found == code
    assert "Traceback" not in said


@pytest.mark.requirement("cli.clean-ends")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_chat_with_closed_streams_is_answered(daemon: ScriptedDaemon, closed: str) -> None:
    code, out, said = shell(f"chat -p hi {closed}")
    assert (code, "Traceback" in said) == (0, False)
    assert out == ("" if ">&-" in closed.replace("2>&-", "") else "hello from the script\n")
    assert len(daemon.requests("SendUserMessage")) == 1


@pytest.mark.requirement("cli.quiet-grpc")
def test_grpc_says_nothing_of_its_own() -> None:
    code = (
        "import os, sys; sys.argv = ['netclaw', 'version']\n"
        "from netclaw.cli.main import main\n"
        "try: main()\n"
        "finally: print(os.environ['GRPC_VERBOSITY'])"
    )
    environ = {key: value for key, value in os.environ.items() if key != "GRPC_VERBOSITY"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "NONE"
