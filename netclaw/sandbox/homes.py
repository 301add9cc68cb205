"""Recognises the netclaw homes of this user that are not the one a command belongs to.

Their databases, keys and tokens are no command's business. Three signs are cheap enough to be
looked for before every command: `~/.netclaw` is always one, a daemon that runs listens in its
home, and a folder beside this home or in and beside a root may hold a home's files.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator

DEFAULT_NAME = ".netclaw"
_SOCKET = "/run/netclawd.sock"
_SIGNS = ("config/netclaw.json", "netclaw.db")

ENTRIES_AT_MOST = 200
"""Looked at in one folder; a crowded one must not slow every command down."""


def default_homes(user_homes: Iterable[str]) -> tuple[str, ...]:
    """Where a home lies if nobody says otherwise; resolved, those that exist."""
    wanted = (f"{home}/{DEFAULT_NAME}" for home in user_homes)
    return tuple(dict.fromkeys(os.path.realpath(path) for path in wanted if os.path.isdir(path)))


def homes_of_daemons(listening: Iterable[str]) -> Iterator[str]:
    """Homes of running daemons, by the path names of listening sockets."""
    for path in listening:
        if path.endswith(_SOCKET):
            home = os.path.realpath(path.removesuffix(_SOCKET))
            if os.path.isdir(home) and home != "/":
                yield home


def homes_in(folder: str) -> Iterator[str]:
    """Homes among the direct entries of a folder, resolved."""
    try:
        with os.scandir(folder) as entries:
            for entry in itertools.islice(entries, ENTRIES_AT_MOST):
                if entry.is_dir() and _is_home(entry.path):
                    yield os.path.realpath(entry.path)
    except OSError:
        return  # a folder that is gone or closed to us shows nothing to a command either


def home_around(path: str) -> str | None:
    """The innermost home that a path lies in; None for most paths. Costs a look at each folder."""
    while path != "/":
        path = os.path.dirname(path)
        if _is_home(path):
            return path
    return None


def _is_home(folder: str) -> bool:
    return any(os.access(f"{folder}/{sign}", os.F_OK) for sign in _SIGNS)
