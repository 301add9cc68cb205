"""Where the user's own files lie: the homes below which programs keep their credentials."""

from __future__ import annotations

import functools
import os
import pwd


def user_homes() -> tuple[str, ...]:
    """The user's homes, resolved: what `HOME` says first, then the account's if it is another."""
    said = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - Path's raises without a home
    return tuple(dict.fromkeys(home for home in (said, _account_home()) if home not in {"", "/"}))


@functools.cache
def _account_home() -> str:
    """The home that the system's own list gives this user; empty where it knows nobody."""
    try:
        return os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return ""
