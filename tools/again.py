"""Runs tests, and at most three that failed once more, each alone: what then passes is unsteady.

    python -m tools.again LEDGER [options of every run] -- [what the first run runs, and how]

A test of real processes fails if the machine stands still while it waits. Such a failure is no
secret: its text stands in the output of the first run, and its node id is appended to the ledger.
Everything else stays a failure: more than three tests, one that fails twice, a run that did not
reach its end, a test module that cannot be loaded, a worker that died (ADR 0050).

The exit status is 0 if each test passed, in the end; otherwise pytest's.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

AT_MOST = 3
"""More failures than these are no stall of a machine."""
REPEAT_WITHIN_S = 600.0
"""Ends a repetition that hangs outside of its test, whose own timeout would end it sooner."""


class Recorder:
    """The pytest plugin of the first run: notes what failed, as the last act of its process.

    A process that is ended by anything else, threads that never end included, leaves no record.
    """

    def __init__(self) -> None:
        self.failed: dict[str, None] = {}
        """Node ids, each once, in the order of their failures."""
        self.is_whole = True
        """Whether nothing but tests failed."""

    def write(self, record: Path) -> None:
        """Leave the record."""
        record.write_text(json.dumps(list(self.failed) if self.is_whole else []))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes a test that failed, in its setup or teardown too."""
        if report.failed:
            self.failed[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that cannot be loaded hides tests that nobody can repeat."""
        self.is_whole = self.is_whole and not report.failed

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self) -> None:
        """A test that took its worker along is no late one."""
        self.is_whole = False


def pytest_addoption(parser: pytest.Parser) -> None:
    """Loaded with `-p tools.again`, this module is told where the record goes."""
    parser.addoption("--record-failures", type=Path, help="file for the ids of tests that failed")


def pytest_configure(config: pytest.Config) -> None:
    """The process that gathers the reports of all workers keeps the record."""
    if not hasattr(config, "workerinput"):
        recorder = Recorder()
        config.pluginmanager.register(recorder, "netclaw-recorder")
        atexit.register(recorder.write, config.getoption("--record-failures"))


def _pytest(*arguments: str, within_s: float | None = None) -> int:
    command = [sys.executable, "-m", "pytest", *arguments]
    try:
        return subprocess.run(command, check=False, timeout=within_s).returncode
    except subprocess.TimeoutExpired:
        return pytest.ExitCode.INTERRUPTED


def repeatable(status: int, record: Path) -> list[str]:
    """The tests that a first run with this exit status may have repeated; empty for none."""
    if status != pytest.ExitCode.TESTS_FAILED or not record.exists():
        return []
    failed: list[str] = json.loads(record.read_text())
    return failed if len(failed) <= AT_MOST else []


def main(arguments: Sequence[str]) -> int:
    """Run, repeat what may be repeated, and return the exit status."""
    ledger, *rest = arguments
    split = rest.index("--")
    always, first = rest[:split], rest[split + 1 :]
    with tempfile.TemporaryDirectory(prefix="nc-", dir="/tmp") as folder:
        record = Path(folder) / "failed.json"
        recording = ("-p", "tools.again", f"--record-failures={record}")
        status = _pytest(*recording, *always, *first)
        failed = repeatable(status, record)
    passed = 0
    for node in failed:
        print(f"\n-- once more, alone: {node}", flush=True)
        if _pytest(*always, "-n", "0", node, within_s=REPEAT_WITHIN_S) == pytest.ExitCode.OK:
            passed += 1
            with Path(ledger).open("a") as unsteady:
                unsteady.write(f"{node}\n")
    return status if passed < len(failed) or not failed else pytest.ExitCode.OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
