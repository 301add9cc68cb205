"""Places that no file tool opens and no project lies in, whatever folder was declared.

A model declares the project directory, so that it may be anywhere: in another netclaw home, with
its tokens and keys, in the temporary folders of other sessions, or where the user's programs keep
credentials. Commands do not see these places (ADR 0010); file tools must not read them either.
"""

from __future__ import annotations

import os

from netclaw.core.credential_places import PLACES
from netclaw.core.path_rules import is_below, is_below_any
from netclaw.core.storage_layout import is_job_definition
from netclaw.linux.user_homes import user_homes

_DEFAULT_HOME = ".netclaw"
_CONFIGURATION = "config/netclaw.json"
_BESIDE_IT = ("identity", "keys", "run", "sessions")
_DATABASE = "netclaw.db"
INTERNAL = ("attachment-staging", "tool-calls")
RUNS = "subagents"


def is_foreign_home(folder: str, home: str) -> bool:
    """Whether a resolved folder is a netclaw home and not `home`, the one in use.

    A configuration alone is no sign: a project may carry one for others to install.
    """
    if folder in {home, "/"}:
        return False
    if _is_there(folder, _DATABASE):
        return True
    has_more = any(_is_there(folder, name) for name in _BESIDE_IT)
    return has_more and _is_there(folder, _CONFIGURATION)


def is_in_foreign_home(real: str, home: str) -> bool:
    """Whether a resolved path is or lies in a netclaw home other than `home`."""
    while real not in {home, "/", ""}:
        if is_foreign_home(real, home):
            return True
        real = os.path.dirname(real)
    return False


def private_places(home: str) -> tuple[str, ...]:
    """What exists of the places where credentials and default homes lie, resolved; 0.1 ms.

    `home`, the netclaw home in use, is left out: it has rules of its own.
    """
    wanted = (f"{user}/{name}" for user in user_homes() for name in (*PLACES, _DEFAULT_HOME))
    found = (os.path.realpath(path) for path in wanted if os.access(path, os.F_OK))
    return tuple(dict.fromkeys(path for path in found if path not in {home, "/"}))


def is_private(real: str, home: str) -> bool:
    """Whether a resolved path is or lies in a private place; what lies in `home` is not asked."""
    if is_below(real, home):
        return False
    return is_below_any(real, private_places(home)) or is_in_foreign_home(real, home)


def _is_there(folder: str, name: str) -> bool:
    return os.access(f"{folder}/{name}", os.F_OK)


def is_internal(real: str, sessions: str, envelope: str) -> bool:
    """Whether a resolved path is or lies in a part of an envelope that has a way of its own.

    Uploads are scanned before anybody sees them; full results are read by their call id alone;
    the definitions of background jobs are the session's.
    `sessions` is the folder of all envelopes, `envelope` the session's own, wherever it is.
    """
    if is_below(real, envelope):
        inside = real[len(envelope) + 1 :].split("/")
    else:
        inside = real[len(sessions) + 1 :].split("/")[1:] if is_below(real, sessions) else []
    if is_job_definition(inside):
        return True
    if inside[:1] == [RUNS]:
        inside = inside[2:]  # a run's folder is an envelope in this one
    return bool(inside) and inside[0] in INTERNAL
