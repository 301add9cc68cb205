"""Which places are protected and which are never writable, as strings alone."""

from __future__ import annotations

import pytest

from netclaw.core.path_rules import is_below, is_below_any, may_be_writable, protected_paths

HOME = "/home/u/.netclaw"


@pytest.mark.parametrize(
    ("path", "folder", "is_inside"),
    [
        ("/a/b", "/a", True),
        ("/a", "/a", True),
        ("/ab", "/a", False),
        ("/a", "/a/b", False),
        ("/a/b", "/", True),
        ("/a/b", "/a/", True),
    ],
)
def test_below_means_the_folder_itself_or_inside(path: str, folder: str, is_inside: bool) -> None:
    assert is_below(path, folder) is is_inside
    assert is_below_any(path, ("/nowhere", folder)) is is_inside


def test_the_stores_and_control_files_of_a_home_are_protected() -> None:
    protected = protected_paths(HOME + "/")
    assert {f"{HOME}/netclaw.db", f"{HOME}/run", f"{HOME}/keys", f"{HOME}/config"} <= set(protected)
    assert all(path.startswith(HOME + "/") for path in protected)


@pytest.mark.requirement("core.never-writable")
@pytest.mark.parametrize(
    ("root", "may"),
    [
        ("/home/u/project", True),
        ("/srv/data", True),
        ("/", False),
        ("/home", False),
        ("/home/u", False),
        (HOME, False),
        (f"{HOME}/run", False),
        ("/etc/cron.d", False),
        ("/usr/local", False),
    ],
)
def test_no_system_folder_no_home_and_no_ancestor_of_a_protected_path_is_writable(
    root: str, may: bool
) -> None:
    protected = protected_paths(HOME)
    assert may_be_writable(root, user_home="/home/u", protected=protected) is may
