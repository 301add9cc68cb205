"""One owner per home: the lock decides, a stale file means nothing, an exec keeps it."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from netclaw.core.errors import (
    AlreadyRunningError,
    InvalidArgumentError,
    StorageReadOnlyError,
)
from netclaw.core.settings import DaemonSettings, StorageSettings
from netclaw.store.lock import HomeLock
from netclaw.store.store import SqliteJournalStore

# Holds the lock in another process: says so, and keeps it until its input is closed.
HOLDER = """
import sys
from pathlib import Path
from netclaw.store.lock import HomeLock
lock = HomeLock.acquire(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""

# Takes the lock, then becomes another program that adopts it, as `daemon restart` does.
RESTARTER = """
import os, sys
from pathlib import Path
from netclaw.store.lock import HomeLock
path = Path(sys.argv[1])
if len(sys.argv) == 2:
    lock = HomeLock.acquire(path)
    descriptor = str(lock.prepare_for_exec())
    os.execv(sys.executable, [sys.executable, "-c", PROGRAM, str(path), descriptor])
lock = HomeLock.adopt(path, int(sys.argv[2]))
print("adopted", os.get_inheritable(lock.descriptor), flush=True)
sys.stdin.read()
"""


def run(program: str, path: Path) -> subprocess.Popen[str]:
    """Start a program over a lock file."""
    source = f"PROGRAM = {program!r}\n{program}"
    return subprocess.Popen(
        [sys.executable, "-c", source, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def line(process: subprocess.Popen[str]) -> str:
    """The next line it prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def names_in(folder: Path) -> list[str]:
    """What the folder holds."""
    return sorted(entry.name for entry in folder.iterdir())


def end(process: subprocess.Popen[str]) -> None:
    """Let it finish."""
    process.communicate(timeout=15)


@pytest.mark.requirement("store.one-owner")
def test_a_second_owner_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    path = tmp_path / "netclaw.lock"
    holder = run(HOLDER, path)
    assert line(holder) == "held"
    with pytest.raises(AlreadyRunningError, match=f"process {holder.pid}"):
        HomeLock.acquire(path)
    end(holder)
    with HomeLock.acquire(path) as lock:
        assert path.read_text() == f"{os.getpid()}\n"
        with pytest.raises(AlreadyRunningError):
            HomeLock.acquire(path)
        assert lock.descriptor >= 0
    lock.close()
    HomeLock.acquire(path).close()


@pytest.mark.requirement("store.one-owner")
def test_a_killed_owner_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "netclaw.lock"
    holder = run(HOLDER, path)
    assert line(holder) == "held"
    holder.kill()
    end(holder)
    assert path.read_text() == f"{holder.pid}\n", "the stale file is still there"
    HomeLock.acquire(path).close()


@pytest.mark.requirement("store.one-owner")
@pytest.mark.parametrize("content", ["1\n", "999999999\n", "garbage \0\xff" * 9, ""])
def test_what_the_file_says_decides_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "netclaw.lock"
    path.write_text(content)
    with HomeLock.acquire(path):
        path.write_text(content)
        with pytest.raises(AlreadyRunningError, match="in use by"):
            HomeLock.acquire(path)


@pytest.mark.requirement("store.one-owner")
@pytest.mark.parametrize("program", [HOLDER, RESTARTER])
def test_a_lock_file_that_was_removed_makes_no_second_owner(tmp_path: Path, program: str) -> None:
    path = tmp_path / "netclaw.lock"
    holder = run(program, path)
    line(holder)
    path.unlink()
    with pytest.raises(AlreadyRunningError, match="in use by"):
        HomeLock.acquire(path)
    end(holder)
    HomeLock.acquire(path).close()


@pytest.mark.requirement("store.one-owner")
def test_a_folder_that_cannot_be_locked_leaves_the_file_to_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "netclaw.lock"
    flock = fcntl.flock

    def flock_files(descriptor: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "no locks on folders here")
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock_files)
    with HomeLock.acquire(path), pytest.raises(AlreadyRunningError):
        HomeLock.acquire(path)


@pytest.mark.requirement("store.lock-over-exec")
def test_the_lock_is_held_through_an_exec(tmp_path: Path) -> None:
    path = tmp_path / "netclaw.lock"
    restarter = run(RESTARTER, path)
    assert line(restarter) == "adopted False"
    with pytest.raises(AlreadyRunningError, match=f"process {restarter.pid}"):
        HomeLock.acquire(path)
    end(restarter)
    HomeLock.acquire(path).close()


@pytest.mark.requirement("store.lock-over-exec")
def test_a_descriptor_that_is_not_the_lock_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "netclaw.lock"
    HomeLock.acquire(path).close()
    other = os.open(tmp_path, os.O_RDONLY)
    try:
        for descriptor in (other, 9999):
            with pytest.raises(InvalidArgumentError):
                HomeLock.adopt(path, descriptor)
    finally:
        os.close(other)


def test_children_do_not_inherit_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "netclaw.lock"
    lock = HomeLock.acquire(path)
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    lock.close()
    HomeLock.acquire(path).close()
    child.communicate(timeout=15)


def test_a_lock_on_a_removed_file_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "netclaw.lock"
    real = fcntl.flock
    calls = []

    def flock(descriptor: int, operation: int) -> None:
        real(descriptor, operation)
        calls.append(descriptor)
        if len(calls) == 1:
            path.unlink()

    monkeypatch.setattr(fcntl, "flock", flock)
    with HomeLock.acquire(path):
        assert path.exists()
        assert len(calls) == 3, "the removed file, the new one, and the folder"
        with pytest.raises(AlreadyRunningError):
            HomeLock.acquire(path)


def test_a_home_that_is_missing_cannot_be_locked(tmp_path: Path) -> None:
    with pytest.raises(StorageReadOnlyError):
        HomeLock.acquire(tmp_path / "missing" / "netclaw.lock")


@pytest.mark.requirement("store.offline-lock")
async def test_an_offline_command_takes_the_lock_first(tmp_path: Path) -> None:
    lock_path, path = tmp_path / "netclaw.lock", tmp_path / "netclaw.db"
    settings, limits = StorageSettings(), DaemonSettings()
    with HomeLock.acquire(lock_path), pytest.raises(AlreadyRunningError):
        await SqliteJournalStore.open_offline(lock_path, path, settings, limits)
    assert names_in(tmp_path) == ["netclaw.lock"], "the database was not touched"
    store = await SqliteJournalStore.open_offline(lock_path, path, settings, limits)
    with pytest.raises(AlreadyRunningError):
        HomeLock.acquire(lock_path)
    await store.close()
    HomeLock.acquire(lock_path).close()
