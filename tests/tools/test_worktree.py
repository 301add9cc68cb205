"""The shared folder of a linked Git worktree, real and forged."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from netclaw.tools.git_worktree import common_directory


def git(folder: Path, *arguments: str) -> None:
    """Runs Git without anybody's configuration."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    command = ["git", *identity, *arguments]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A worktree linked to a repository beside it."""
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "start")
    git(main, "worktree", "add", "-q", str(tmp_path / "linked"))
    return tmp_path / "linked"


@pytest.mark.requirement("tools.worktree")
def test_the_common_directory_of_a_linked_worktree_is_found(linked: Path) -> None:
    assert common_directory(str(linked)) == str((linked.parent / "main/.git").resolve())


@pytest.mark.requirement("tools.worktree")
def test_other_folders_have_none(linked: Path) -> None:
    assert common_directory(str(linked.parent / "main")) is None
    assert common_directory(str(linked.parent)) is None
    assert common_directory("/nowhere") is None


@pytest.mark.requirement("tools.worktree")
def test_a_forged_pointer_opens_nothing(linked: Path, tmp_path: Path) -> None:
    """A project that claims to be a worktree of a repository that does not know it."""
    forged = tmp_path / "forged"
    forged.mkdir()
    pointer = (linked / ".git").read_text()
    (forged / ".git").write_text(pointer)
    assert common_directory(str(forged)) is None
    home = tmp_path / "victim/worktrees/x"
    home.mkdir(parents=True)
    (home / "gitdir").write_text(f"{forged}/.git\n")
    (home / "commondir").write_text("../..\n")
    (forged / ".git").write_text(f"gitdir: {home}\n")
    assert common_directory(str(forged)) is None  # no repository there
    (forged / ".git").unlink()
    (forged / ".git").symlink_to(linked / ".git")
    assert common_directory(str(forged)) is None


@pytest.mark.requirement("tools.worktree")
def test_a_commondir_that_points_elsewhere_is_not_believed(linked: Path, tmp_path: Path) -> None:
    private = next((linked.parent / "main/.git/worktrees").iterdir())
    (private / "commondir").write_text(str(tmp_path))
    assert common_directory(str(linked)) is None


@pytest.mark.requirement("tools.worktree")
def test_a_pointer_that_can_be_no_path_points_nowhere(linked: Path) -> None:
    private = next((linked.parent / "main/.git/worktrees").iterdir())
    for file in (private / "commondir", private / "gitdir", linked / ".git"):
        whole = file.read_bytes()
        assert common_directory(str(linked)) is not None
        file.write_bytes(whole.rstrip() + b"\0x\n")
        assert common_directory(str(linked)) is None
        file.write_bytes(whole)


def test_a_link_that_changes_while_it_is_followed_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(path: object, **_options: object) -> str:
        raise OSError(errno.EINVAL, "changed", str(path))

    (tmp_path / ".git").write_text("gitdir: /elsewhere/worktrees/one\n")
    monkeypatch.setattr(os.path, "realpath", changed)
    assert common_directory(str(tmp_path)) is None
