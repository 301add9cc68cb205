"""Which home is meant, and when two are the same."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from netclaw.config.home import MAX_LINKS, find_home, make_private_folder, resolve_path
from netclaw.core.errors import InvalidArgumentError, StorageReadOnlyError


def chain(folder: Path, length: int) -> Path:
    """`length` links that lead to a folder one after the other."""
    target = folder / "end"
    target.mkdir()
    for number in range(length):
        link = folder / f"link{number}"
        link.symlink_to(target)
        target = link
    return target


@pytest.mark.requirement("config.home-resolved")
def test_homes_are_the_same_if_they_resolve_to_the_same_folder(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "a").mkdir()
    names = ["real", "real/", "link", "link/.", "a/../real", "./link//", "a/../link/../real"]
    homes = {find_home({"NETCLAW_HOME": f"{tmp_path}/{name}"}) for name in names}
    assert len(homes) == 1
    assert homes.pop().root == Path(os.path.realpath(real))


def test_a_home_that_does_not_exist_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "not-there")
    assert resolve_path(f"{tmp_path}/link/x/") == f"{tmp_path}/not-there/x"


def test_dots_go_up_from_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "er")
    assert resolve_path(f"{tmp_path}/link/../x") == f"{tmp_path}/deep/x"


def test_a_relative_home_is_below_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_path("here") == f"{os.path.realpath(tmp_path)}/here"


@pytest.mark.requirement("upstream.folder-gone")
def test_in_a_folder_that_is_gone_only_a_relative_home_cannot_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find_home({"NETCLAW_HOME": str(tmp_path / "home")}).root == tmp_path / "home"
    with pytest.raises(InvalidArgumentError, match="the current folder is gone"):
        find_home({"NETCLAW_HOME": "home"})


def test_the_default_is_below_the_users_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    assert find_home({}).root == Path("/somewhere/.netclaw")
    assert find_home({"NETCLAW_HOME": ""}).root == Path("/somewhere/.netclaw")


@pytest.mark.requirement("config.home-resolved")
def test_forty_links_are_followed_and_no_more(tmp_path: Path) -> None:
    last = chain(tmp_path, MAX_LINKS)
    assert resolve_path(str(last)) == str(tmp_path / "end")
    (tmp_path / "one-more").symlink_to(last)
    with pytest.raises(InvalidArgumentError, match="more than 40 symbolic links"):
        resolve_path(f"{tmp_path}/one-more")


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InvalidArgumentError):
        resolve_path(f"{tmp_path}/loop")


def test_folders_are_made_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    make_private_folder(folder)
    for made in (folder, folder.parent):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_a_file_in_the_way_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InvalidArgumentError, match="is in the way"):
            make_private_folder(place)


def test_a_folder_that_cannot_be_made_is_one_sentence() -> None:
    with pytest.raises(StorageReadOnlyError, match="cannot be created"):
        make_private_folder(Path("/proc/self/netclaw"))
