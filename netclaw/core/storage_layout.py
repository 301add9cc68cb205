"""Names of a session's folders, derived from its id and home (decision 20, S0 "Storage on disk").

The envelope's path is fixed when the session is created and stored; only its parent may change,
when the data directory is moved. Names are safe on any file system: no dots, no separators, no
case that matters (the hash tells apart what the readable part does not).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from netclaw.core.ids import RunId, SessionId
from netclaw.core.settings import SessionStorage

LAYOUT = 1
"""The layout of the envelopes that this program makes."""
UNVERSIONED = 0
"""The layout of sessions that are older than layouts: their paths are as they always were."""
TEMP_BASE = "/tmp/netclaw"  # noqa: S108 - a name only; whoever uses it checks owner and links
READABLE_LENGTH = 40
HASH_LENGTH = 12
CHILD_HASH_LENGTH = 8

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_UNSAFE_ONCE = re.compile(r"[/.\s]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerooted:
    """Where a stored envelope is now; `moved_from` is the stored path if it differs."""

    root: str
    moved_from: str | None = None


def envelope_name(session_id: SessionId) -> str:
    """`<readable id, at most 40 characters>-<12 hex of SHA-256 of the id>`."""
    return f"{readable(session_id)}-{_digest(session_id)[:HASH_LENGTH]}"


def readable(session_id: SessionId) -> str:
    """The part of a folder name that a person recognises."""
    return _UNSAFE.sub("_", session_id)[:READABLE_LENGTH]


def sessions_dir(home: str) -> str:
    """The folder of all envelopes."""
    return f"{home.rstrip('/')}/sessions"


def temp_key_dir(uid: int, home: str, session_id: SessionId) -> str:
    """The temporary folder of one session, a trusted root of it; its parent is not.

    Its name comes from home and id together: two homes of one user may have equal ids.
    """
    key = _digest(f"{home.rstrip('/')}\0{session_id}")[:HASH_LENGTH]
    return f"{TEMP_BASE}-{uid}/{key}"


def temp_parent_dir(uid: int, home: str, session_id: SessionId) -> str:
    """The managed temporary directory of the session's own run."""
    return f"{temp_key_dir(uid, home, session_id)}/p"


def temp_child_dir(uid: int, home: str, session_id: SessionId, run_id: RunId) -> str:
    """The managed temporary directory of one child run."""
    return f"{temp_key_dir(uid, home, session_id)}/c{_digest(run_id)[:CHILD_HASH_LENGTH]}"


def child_run_dir(envelope_root: str, run_id: RunId) -> str:
    """The envelope area of one child run."""
    return f"{envelope_root}/subagents/{run_id}"


def is_job_definition(inside: Sequence[str]) -> bool:
    """Whether the parts of a path within an envelope name what a background job is known by.

    The job's log, beside it, may be read. A run's folder is an envelope in this one.
    """
    if tuple(inside[:1]) == ("subagents",):
        inside = inside[2:]
    return len(inside) == 2 and inside[0] == "jobs" and inside[1].endswith(".json")


def new_root(home: str, session_id: SessionId) -> str:
    """The envelope that a session created now is bound to."""
    return f"{sessions_dir(home)}/{envelope_name(session_id)}"


def reroot(stored_root: str, home: str) -> Rerooted:
    """Find a stored envelope under the current home.

    A moved or restored data directory keeps its folder names, so only the parent is replaced;
    the caller logs one warning with both paths (S0).
    """
    current = f"{sessions_dir(home)}/{stored_root.rstrip('/').rpartition('/')[2]}"
    if current == stored_root:
        return Rerooted(root=current)
    return Rerooted(root=current, moved_from=stored_root)


def unversioned_root(home: str, session_id: SessionId, stored_root: str) -> str:
    """The folder of a session that is older than layouts: as stored, or named by its id alone.

    It is neither moved nor renamed, and not looked for under a home that was moved (S0).
    """
    return stored_root or f"{sessions_dir(home)}/{_UNSAFE_ONCE.sub('_', session_id)}"


def storage_of(home: str, root: str, uid: int, session_id: SessionId) -> SessionStorage:
    """All folders of a session whose envelope is `root`."""
    return SessionStorage(home=home, root=root, tmp=temp_parent_dir(uid, home, session_id))


def storage_of_run(
    home: str, parent_root: str, uid: int, parent: SessionId, run_id: RunId
) -> SessionStorage:
    """All folders of a child run: within its parent's envelope and temporary folder."""
    return SessionStorage(
        home=home,
        root=child_run_dir(parent_root, run_id),
        tmp=temp_child_dir(uid, home, parent, run_id),
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
