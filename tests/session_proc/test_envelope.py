"""The folders of a session: made when needed, private, and never through somebody else's link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from netclaw.core.settings import SessionStorage
from netclaw.session_proc.envelope import (
    UnsafeFolderError,
    ensure_private_folder,
    ensure_temporary_folder,
    prepare_for_tools,
)


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """Folders must be private whatever the umask is."""
    old = os.umask(0)
    yield
    os.umask(old)


def mode_of(path: Path) -> int:
    """The permission bits."""
    return path.stat().st_mode & 0o777


@pytest.mark.requirement("session_proc.envelope")
def test_missing_folders_are_made_private(tmp_path: Path) -> None:
    storage = SessionStorage(
        home=str(tmp_path),
        root=str(tmp_path / "sessions" / "one"),
        tmp=str(tmp_path / "netclaw-7" / "key" / "p"),
    )
    prepare_for_tools(storage)
    for folder in ("sessions/one/workspace", "sessions", "netclaw-7", "netclaw-7/key/p"):
        assert mode_of(tmp_path / folder) == 0o700
    prepare_for_tools(storage)


@pytest.mark.requirement("session_proc.envelope")
@pytest.mark.parametrize("link", ["netclaw-7", "netclaw-7/key", "netclaw-7/key/p"])
def test_a_link_in_the_temporary_path_is_refused(tmp_path: Path, link: str) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(target)
    with pytest.raises(UnsafeFolderError, match="temporary folder is not safe"):
        ensure_temporary_folder(tmp_path / "netclaw-7" / "key" / "p")
    assert list(target.iterdir()) == []


@pytest.mark.requirement("session_proc.envelope")
def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netclaw-7").mkdir()
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    with pytest.raises(UnsafeFolderError, match="another user owns"):
        ensure_temporary_folder(tmp_path / "netclaw-7" / "key" / "p")


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "netclaw-7").write_text("")
    with pytest.raises(UnsafeFolderError):
        ensure_temporary_folder(tmp_path / "netclaw-7" / "key" / "p")


def test_an_open_folder_of_ours_is_closed_again(tmp_path: Path) -> None:
    path = tmp_path / "netclaw-7" / "key" / "p"
    path.mkdir(parents=True)
    path.chmod(0o777)
    ensure_temporary_folder(path)
    assert mode_of(path) == 0o700
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    ensure_temporary_folder(path)
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def test_an_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir(mode=0o755)
    ensure_private_folder(folder)
    assert mode_of(folder) == 0o755
