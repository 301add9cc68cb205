"""Crash reports: every way to die leaves one, a clean end leaves none."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import sys, threading, os, signal
from pathlib import Path
from netclaw.observe.crash import CrashReporter
from netclaw.observe.redact import Redactor

redact = Redactor(["secret-x1"])
reporter = CrashReporter(Path(sys.argv[1]), program="netclawd", version="1", redact=redact)
reporter.install()

def fail():
    raise ValueError("with secret-x1")

match sys.argv[2]:
    case "main": fail()
    case "thread":
        thread = threading.Thread(target=fail, name="writer")
        thread.start(); thread.join()
    case "abort": os.abort()
    case "interrupt": raise KeyboardInterrupt
    case "exit": sys.exit(3)
reporter.close()
"""


def run(folder: Path, way: str) -> tuple[int, str, dict[str, str]]:
    """End a program in a way; exit code, standard error, reports by name."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), way],
        capture_output=True,
        text=True,
        check=False,
    )
    reports = {path.name: path.read_text() for path in folder.glob("crash-*.log")}
    return done.returncode, done.stderr, reports


@pytest.mark.requirement("observe.crash-report")
@pytest.mark.parametrize(("way", "where"), [("main", "main thread"), ("thread", "thread writer")])
def test_an_uncaught_exception_is_reported(tmp_path: Path, way: str, where: str) -> None:
    code, said, reports = run(tmp_path, way)
    assert code == (1 if way == "main" else 0)
    text = next(report for name, report in reports.items() if "fatal" not in name)
    assert where in text
    assert "in fail" in text
    assert "secret-x1" not in text
    assert "netclawd crashed; the report is" in said


@pytest.mark.requirement("observe.crash-report")
def test_a_fatal_signal_leaves_its_stack(tmp_path: Path) -> None:
    code, _, reports = run(tmp_path, "abort")
    assert code == -6
    assert "Fatal Python error: Aborted" in "".join(reports.values())


def test_a_clean_end_leaves_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, "none") == (0, "", {})


@pytest.mark.parametrize("way", ["interrupt", "exit"])
def test_an_end_that_was_asked_for_is_no_crash(tmp_path: Path, way: str) -> None:
    _, _, reports = run(tmp_path, way)
    assert not [text for text in reports.values() if text]


def test_a_folder_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    code, said, reports = run(tmp_path / "absent", "main")
    assert code == 1
    assert "ValueError" in said
    assert reports == {}


@pytest.mark.requirement("observe.crash-tidy")
def test_a_start_removes_what_killed_and_old_daemons_left(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    days = 86_400
    ages = {
        f"crash-fatal-{gone.pid}.log": ("", 0),
        f"crash-fatal-{os.getpid()}.log": ("", 0),
        "crash-fatal-1x.log": ("", 0),
        "crash-20260101T000000Z-7.log": ("report", 31 * days),
        "crash-20260102T000000Z-8.log": ("report", 29 * days),
        f"crash-fatal-{gone.pid}0.log": ("last words", 31 * days),
        "daemon-2026-01-01.log": ("log", 31 * days),
    }
    for name, (text, age_s) in ages.items():
        path = tmp_path / name
        path.write_text(text)
        os.utime(path, (time.time() - age_s,) * 2)
    assert run(tmp_path, "none")[:2] == (0, "")
    assert {path.name for path in tmp_path.iterdir()} == {
        f"crash-fatal-{os.getpid()}.log",
        "crash-fatal-1x.log",
        "crash-20260102T000000Z-8.log",
        "daemon-2026-01-01.log",
    }
