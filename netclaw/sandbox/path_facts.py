"""Looks at the paths a command names: where they lead, what is there, which folder is a Git one."""

from __future__ import annotations

import errno
import os
import re
import stat

from netclaw.core.authz.facts import PathFact, PathKind, RepositoryFact
from netclaw.linux.magic_links import passes_magic_link

MAX_ENTRIES = 5000
"""A folder with more entries is not listed: a glob in it proves nothing."""

MAX_LINE = 4096

_DESCRIPTOR = re.compile(r"/dev/(?:stdin|stdout|stderr|fd/\d+)|/proc/self/fd/\d+")
"""What a command has open: what it opened was named where it did."""


class HostPaths:
    """The `PathFacts` of this host, looked at anew at every call."""

    def path(self, path: str) -> PathFact:
        """See `PathFacts`."""
        canonical = "/" + os.path.normpath(path).lstrip("/")
        if _DESCRIPTOR.fullmatch(path):
            return PathFact(canonical=canonical, resolved=canonical, kind=PathKind.OTHER)
        try:
            return _looked_at(path, canonical)
        except (OSError, ValueError):  # a path that changes while it is looked at, too
            return PathFact(canonical=canonical, resolved=None)

    def repository(self, folder: str) -> RepositoryFact | None:
        """See `PathFacts`. A `.git` file counts only if the other side names this worktree too."""
        current = os.path.realpath(folder)
        while True:
            marker = os.path.join(current, ".git")
            if os.path.isdir(marker) and not os.path.islink(marker):
                is_whole = os.path.isfile(os.path.join(marker, "HEAD"))
                return RepositoryFact(common=marker, worktree=current) if is_whole else None
            if os.path.lexists(marker):
                return _linked(current)
            if current == "/":
                return None
            current = os.path.dirname(current)


def _looked_at(path: str, canonical: str) -> PathFact:
    resolved = _resolve(path)
    straight = _resolve(canonical)
    kind = _kind(resolved)
    return PathFact(
        canonical=canonical,
        resolved=resolved,
        kind=kind,
        is_link=os.path.islink(canonical),
        is_ambiguous=resolved != straight,
        links=_links(resolved) if kind is PathKind.FOLDER else (),
        has_top=os.path.lexists("/" + canonical.split("/")[1]),
        folder=resolved if kind is PathKind.FOLDER else _nearest_folder(resolved),
        holder=os.path.realpath(_nearest_folder(canonical)),
    )


def _resolve(path: str) -> str:
    """The path without links; what does not exist keeps its name.

    Raises `OSError` for links that lead in a circle or to another place for every process,
    `ValueError` for a NUL.
    """
    if passes_magic_link(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    try:
        return os.path.realpath(path, strict=True)
    except OSError as fault:
        if fault.errno == errno.ELOOP:
            raise
        return os.path.realpath(path)


def _kind(path: str) -> PathKind:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return PathKind.MISSING
    if stat.S_ISDIR(mode):
        return PathKind.FOLDER
    return PathKind.FILE if stat.S_ISREG(mode) else PathKind.OTHER


def _nearest_folder(path: str) -> str:
    """The nearest folder above a path that is there."""
    folder = os.path.dirname(path)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


def _links(folder: str) -> tuple[str, ...] | None:
    found = []
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count >= MAX_ENTRIES:
                    return None
                if entry.is_symlink():
                    found.append(entry.name)
    except OSError:
        return None
    return tuple(sorted(found))


def _linked(worktree: str) -> RepositoryFact | None:
    """A worktree that `git worktree add` registered; not a copied or a moved one."""
    pointer = _line(os.path.join(worktree, ".git"))
    if not pointer.startswith("gitdir: "):
        return None
    private = os.path.realpath(os.path.join(worktree, pointer.removeprefix("gitdir: ")))
    if os.path.basename(os.path.dirname(private)) != "worktrees":
        return None
    back = os.path.join(private, _line(os.path.join(private, "gitdir")))
    if os.path.realpath(back) != os.path.join(worktree, ".git"):
        return None
    common = os.path.dirname(os.path.dirname(private))
    if not os.path.isfile(os.path.join(common, "HEAD")):
        return None
    return RepositoryFact(common=common, worktree=worktree)


def _line(path: str) -> str:
    """First line of a small regular file, or empty."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, MAX_LINE).decode("utf-8", "replace").partition("\n")[0].strip()
    except OSError:
        return ""
    finally:
        os.close(fd)
