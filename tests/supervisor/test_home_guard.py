"""Taking a home: lock, run folder, token, leftovers."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from netclaw.config.home import Home
from netclaw.core.errors import AlreadyRunningError, StorageReadOnlyError, UnauthenticatedError
from netclaw.supervisor.home_guard import HomeGuard


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home that does not exist yet."""
    return Home(tmp_path / "home")


def mode(path: Path) -> int:
    """Permission bits of a path."""
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.requirement("supervisor.home")
def test_a_new_home_is_made_private_and_left_tidy(home: Home) -> None:
    guard = HomeGuard.take(home, None)
    guard.write_token("t0ken")
    guard.write_pid()
    assert mode(home.root) == 0o700
    assert mode(home.run_dir) == 0o700
    assert mode(home.operator_token) == 0o600
    assert home.pid_file.read_text() == f"{os.getpid()}\n"
    guard.leave()
    assert not home.operator_token.exists()
    assert not home.pid_file.exists()
    HomeGuard.take(home, None).leave()


@pytest.mark.requirement("supervisor.home")
def test_a_second_daemon_is_refused_and_disturbs_nothing(home: Home) -> None:
    guard = HomeGuard.take(home, None)
    guard.write_token("t0ken")
    home.socket.touch()
    with pytest.raises(AlreadyRunningError):
        HomeGuard.take(home, None)
    assert home.socket.exists()
    assert home.operator_token.read_text() == "t0ken"
    guard.leave()


@pytest.mark.requirement("supervisor.home")
def test_leftovers_of_a_dead_daemon_are_removed_under_the_lock(home: Home) -> None:
    HomeGuard.take(home, None).leave()
    home.socket.touch()
    (home.run_dir / "host.sock").touch()
    home.pid_file.write_text("1\n")
    guard = HomeGuard.take(home, None)
    assert not home.socket.exists()
    assert not guard.host_socket.exists()
    guard.leave()


@pytest.mark.requirement("supervisor.home")
def test_an_open_run_folder_of_ours_is_repaired(home: Home) -> None:
    HomeGuard.take(home, None).leave()
    home.run_dir.chmod(0o777)
    guard = HomeGuard.take(home, None)
    assert mode(home.run_dir) == 0o700
    guard.leave()


@pytest.mark.requirement("supervisor.home")
def test_a_run_folder_that_is_a_link_or_a_file_is_refused(home: Home, tmp_path: Path) -> None:
    HomeGuard.take(home, None).leave()
    home.run_dir.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    home.run_dir.symlink_to(elsewhere)
    with pytest.raises(UnauthenticatedError):
        HomeGuard.take(home, None)
    home.run_dir.unlink()
    home.run_dir.touch()
    with pytest.raises(UnauthenticatedError):
        HomeGuard.take(home, None)
    home.run_dir.unlink()
    HomeGuard.take(home, None).leave()


@pytest.mark.requirement("supervisor.home")
def test_a_run_folder_of_another_user_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    HomeGuard.take(home, None).leave()
    stranger = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: stranger)
    with pytest.raises(UnauthenticatedError):
        HomeGuard.take(home, None)


def test_a_folder_in_place_of_a_socket_and_a_token_that_cannot_be_written_are_said(
    home: Home,
) -> None:
    guard = HomeGuard.take(home, None)
    home.operator_token.with_name("operator.token.new").mkdir()
    with pytest.raises(StorageReadOnlyError):
        guard.write_token("x")
    guard.leave()
    home.socket.mkdir()
    with pytest.raises((UnauthenticatedError, StorageReadOnlyError)):
        HomeGuard.take(home, None)
    home.socket.rmdir()
    HomeGuard.take(home, None).leave()


def test_an_inherited_lock_is_taken_over(home: Home) -> None:
    first = HomeGuard.take(home, None)
    descriptor = first.lock.prepare_for_exec()
    assert first.lock._folder is not None
    os.close(first.lock._folder)  # as the exec does, which this test leaves out
    second = HomeGuard.take(home, descriptor)
    with pytest.raises(AlreadyRunningError):
        HomeGuard.take(home, None)
    second.leave()
