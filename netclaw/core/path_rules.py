"""Which places of the host a session may never write, and which it may not even see.

Decisions on strings alone: paths are absolute, normal and already resolved by whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterable

# Writing here would outlive the session as somebody else's program or configuration.
_NEVER_WRITABLE = frozenset(
    f"/{name}"
    for name in (
        *("", "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt"),
        *("proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var", "var/lib"),
        *("usr/bin", "usr/lib", "usr/local", "usr/sbin", "usr/share"),
    )
)
_NEVER_WRITABLE_BELOW = ("/boot", "/dev", "/etc", "/proc", "/sys", "/usr/bin", "/usr/sbin")

_PROTECTED = (
    *("run", "keys", "config", "client", "trash", "logs"),
    *("netclaw.db", "netclaw.db-wal", "netclaw.db-shm", "netclaw.lock", "netclaw.pid"),
)


def is_below(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies inside it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_below_any(path: str, folders: Iterable[str]) -> bool:
    """Whether one of the folders holds the path."""
    return any(is_below(path, folder) for folder in folders)


def protected_paths(home: str) -> tuple[str, ...]:
    """The protected stores and control files of a netclaw home (glossary, decision 83)."""
    return tuple(f"{home.rstrip('/')}/{name}" for name in _PROTECTED)


def may_be_writable(root: str, *, user_home: str, protected: Iterable[str]) -> bool:
    """Whether a folder may be opened for writing as a whole (decision 45).

    `/`, the user's home, any ancestor of a protected path and the system's own folders never are.
    """
    if root in _NEVER_WRITABLE or is_below_any(root, _NEVER_WRITABLE_BELOW):
        return False
    return not any(is_below(path, root) for path in (user_home, *protected))
