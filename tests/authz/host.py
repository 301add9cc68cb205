"""A small file system in memory that answers the questions of an analysis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from netclaw.core.authz.facts import PathFact, PathKind, RepositoryFact

USER_HOME = "/home/op"
HOME = f"{USER_HOME}/.netclaw"
PROJECT = f"{USER_HOME}/project"
SESSION = f"{HOME}/sessions/one/workspace"
KEY_FOLDER = "/tmp/netclaw-1/key"
TMP = f"{KEY_FOLDER}/p"

FOLDERS = (
    *("/bin", "/usr/bin", "/etc", "/ext", "/outside", "/var/tmp", "/dev", TMP, SESSION),
    *(f"{PROJECT}/.git", f"{PROJECT}/src", f"{PROJECT}/docs", f"{PROJECT}/reports"),
    *(f"{PROJECT}/linked", f"{PROJECT}/dev-tools", f"{USER_HOME}/other/.git"),
    *(f"{HOME}/config/webhooks", f"{HOME}/keys", f"{HOME}/run", f"{HOME}/logs"),
    *(f"{USER_HOME}/bin", f"{USER_HOME}/netclaw", "/unlisted"),
)
FILES = (
    *("/etc/passwd", "/etc/a", "/outside/in.txt", "/bin/ls", "/usr/bin/git", "/dev/null"),
    *(f"{PROJECT}/README.md", f"{PROJECT}/a.txt", f"{PROJECT}/b.txt", f"{PROJECT}/m"),
    *(f"{PROJECT}/src/main.py", f"{PROJECT}/src/util.py", f"{PROJECT}/run.sh"),
    *(f"{PROJECT}/old.tmp", f"{PROJECT}/x.tmp", f"{PROJECT}/r.json", f"{PROJECT}/linked/real"),
    *(f"{USER_HOME}/x.txt", f"{USER_HOME}/bin/tool", f"{HOME}/config/netclaw.json"),
    *(f"{HOME}/config/secrets.json", f"{HOME}/config/tool-approvals.json", f"{HOME}/keys/x"),
    *(f"{HOME}/config/webhooks/one.json", f"{HOME}/keys/ring.xml", f"{HOME}/netclaw.db"),
    *(f"{HOME}/run/operator.token", f"{HOME}/netclaw.pid"),
)
LINKS = {
    f"{PROJECT}/linked/out": "/etc",
    f"{PROJECT}/way-out": "/outside",
    f"{PROJECT}/to-keys": f"{HOME}/keys",
    f"{PROJECT}/loop": f"{PROJECT}/loop",
}


def _parents(path: str) -> Iterator[str]:
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        yield path


@dataclass(frozen=True)
class MemoryHost:
    """The `PathFacts` of a described file system."""

    folders: tuple[str, ...] = FOLDERS
    files: tuple[str, ...] = FILES
    links: Mapping[str, str] = field(default_factory=lambda: LINKS)
    repositories: Mapping[str, str] = field(
        default_factory=lambda: {PROJECT: f"{PROJECT}/.git", f"{USER_HOME}/other": "/o.git"}
    )

    def path(self, path: str) -> PathFact:
        """See `PathFacts`."""
        canonical = self._resolve(path, follows=False)
        resolved, straight = self._resolve(path), self._resolve(canonical or "/")
        top = "/" + (canonical or "/").split("/")[1]
        kind = self._kind(resolved) if resolved is not None else PathKind.MISSING
        return PathFact(
            canonical=canonical or "/",
            resolved=resolved,
            kind=kind,
            is_link=canonical in self.links,
            is_ambiguous=resolved != straight,
            links=self._links(resolved) if kind is PathKind.FOLDER else (),
            has_top=self._kind(top) is not PathKind.MISSING,
            folder=resolved if kind is PathKind.FOLDER else self._nearest(resolved or "/"),
            holder=self._resolve(self._nearest(canonical or "/")),
        )

    def repository(self, folder: str) -> RepositoryFact | None:
        """See `PathFacts`."""
        for worktree in (folder, *_parents(folder)):
            if worktree in self.repositories:
                return RepositoryFact(common=self.repositories[worktree], worktree=worktree)
        return None

    def _nearest(self, path: str) -> str:
        """The nearest folder above a path that is there, links followed or not."""
        known = self._all_folders()
        return next(
            (above for above in _parents(path) if (self._resolve(above) or "") in known), "/"
        )

    def _all_folders(self) -> set[str]:
        known = (*self.folders, *self.files, *self.links)
        return {"/", *self.folders, *(parent for path in known for parent in _parents(path))}

    def _kind(self, path: str) -> PathKind:
        if path in self._all_folders():
            return PathKind.FOLDER
        return PathKind.FILE if path in self.files else PathKind.MISSING

    def _links(self, folder: str | None) -> tuple[str, ...] | None:
        if folder == "/unlisted":
            return None
        return tuple(
            path.rpartition("/")[2]
            for path in self.links
            if (path.rpartition("/")[0] or "/") == folder
        )

    def _resolve(self, path: str, *, follows: bool = True, left: int = 40) -> str | None:
        done: list[str] = []
        pending = path.split("/")
        while pending:
            part = pending.pop(0)
            if part in ("", "."):
                continue
            if part == "..":
                del done[-1:]
                continue
            done.append(part)
            target = self.links.get("/" + "/".join(done)) if follows else None
            if target is not None:
                left -= 1
                if left < 0:
                    return None
                done = []
                pending = [*target.split("/"), *pending]
        return "/" + "/".join(done)
