"""Tests cannot change a file of the system: what one tries is refused and noticed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import system_files
from tests.system_files import SystemFileError, is_of_the_system

pytestmark = pytest.mark.requirement("tests.no-system-file")

NEW = "/etc/netclaw-test-file"


def by_descriptor() -> None:
    """As file tools write: a name in an opened folder."""
    folder = os.open("/etc", os.O_RDONLY)
    try:
        os.rename("nothing", "netclaw-test-file", src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda: Path(NEW).write_text("planted"),
        lambda: os.open("/etc/hostname", os.O_WRONLY),
        lambda: Path(NEW).mkdir(),
        lambda: Path("/tmp/../etc/netclaw-test-file").symlink_to("x"),
        lambda: Path("/etc/hostname").rename("/tmp/x"),
        lambda: Path(NEW).unlink(),
        lambda: os.truncate("/etc/hostname", 0),
        by_descriptor,
    ],
)
def test_a_change_is_refused_before_it_happens(change: Callable[[], object]) -> None:
    before = system_files.state_of_the_system()
    known = len(system_files.tried)
    with pytest.raises(SystemFileError):
        change()
    assert len(system_files.tried) == known + 1
    del system_files.tried[known:]
    assert system_files.state_of_the_system() == before


def test_a_link_out_of_a_folder_of_the_test_is_followed(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/etc")
    known = len(system_files.tried)
    with pytest.raises(SystemFileError):
        (tmp_path / "out/netclaw-test-file").write_text("planted")
    del system_files.tried[known:]


def test_what_is_a_tests_own_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert not is_of_the_system(str(tmp_path / "file"))
    assert not is_of_the_system("/etcetera/x")
    assert not is_of_the_system(str(Path(__file__)))
    assert is_of_the_system("/etc/hostname")
