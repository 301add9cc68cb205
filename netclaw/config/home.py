"""Where everything of one netclaw is on disk, and when two homes are the same.

The home is compared and locked by its resolved path: component by component, no trailing
separator, at most 40 links (protocol, "Configuration").
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from netclaw.core.errors import InvalidArgumentError, StorageReadOnlyError

HOME_VARIABLE = "NETCLAW_HOME"
DEFAULT_HOME = "~/.netclaw"
MAX_LINKS = 40
PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


def resolve_path(path: str) -> str:
    """The path without links, `.` and `..`, absolute, without a trailing separator.

    Components that do not exist are kept as written, so a home can be named before it is made.
    Raises `InvalidArgumentError` beyond 40 links, and for a relative path in a folder that is gone.
    """
    pending = [*reversed(_absolute(path).split("/"))]
    resolved = "/"
    links = 0
    while pending:
        part = pending.pop()
        if part in ("", "."):
            continue
        if part == "..":
            resolved = os.path.dirname(resolved)  # noqa: PTH120 - on text, links already gone
            continue
        candidate = f"{resolved.rstrip('/')}/{part}"
        target = _link_target(candidate)
        if target is None:
            resolved = candidate
            continue
        links += 1
        if links > MAX_LINKS:
            raise InvalidArgumentError(
                f"The home {path} leads through more than {MAX_LINKS} symbolic links.",
                fix=f"Point {HOME_VARIABLE} at the folder itself.",
            )
        if target.startswith("/"):
            resolved = "/"
        pending.extend(reversed(target.split("/")))
    return resolved


def _link_target(path: str) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115 - the target as written, not as a Path cleans it
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class Home:
    """One netclaw home by its resolved path; two homes are the same if these are equal."""

    root: Path

    @property
    def config_dir(self) -> Path:
        """Holds what the operator writes: netclaw.json, secrets.json, webhook routes."""
        return self.root / "config"

    @property
    def config_file(self) -> Path:
        """The configuration; JSON with comments."""
        return self.config_dir / "netclaw.json"

    @property
    def secrets_file(self) -> Path:
        """Credentials, encrypted at rest, mode 0600."""
        return self.config_dir / "secrets.json"

    @property
    def deny_overrides(self) -> Path:
        """Deny rules of the operator beside those of netclaw.json; they only add."""
        return self.config_dir / "hard-deny-overrides.json"

    @property
    def grants_file(self) -> Path:
        """Stored grants; written by the daemon and, when none runs, by `netclaw approvals`."""
        return self.config_dir / "tool-approvals.json"

    @property
    def keys_dir(self) -> Path:
        """The key ring that opens secrets.json; lost keys are lost secrets."""
        return self.root / "keys"

    @property
    def identity_dir(self) -> Path:
        """SOUL.md, AGENTS.md and TOOLING.md (decision 21)."""
        return self.root / "identity"

    @property
    def skills_dir(self) -> Path:
        """Skills; agents of Team and Personal may read them."""
        return self.root / "skills"

    @property
    def sessions_dir(self) -> Path:
        """One storage envelope per session (decision 20)."""
        return self.root / "sessions"

    @property
    def workspaces_dir(self) -> Path:
        """Default of `Workspaces.Directory`."""
        return self.root / "workspaces"

    @property
    def logs_dir(self) -> Path:
        """Daemon logs and crash reports."""
        return self.root / "logs"

    @property
    def models_dir(self) -> Path:
        """Weights fetched by `netclaw model pull`."""
        return self.root / "models"

    @property
    def trash_dir(self) -> Path:
        """Files of deleted sessions until `netclaw trash empty` (decision 34)."""
        return self.root / "trash"

    @property
    def run_dir(self) -> Path:
        """Sockets and tokens, mode 0700; exists while a daemon may run."""
        return self.root / "run"

    @property
    def socket(self) -> Path:
        """The public socket of the daemon."""
        return self.run_dir / "netclawd.sock"

    @property
    def operator_token(self) -> Path:
        """The capability token that gives Operator, mode 0600 (decision 40)."""
        return self.run_dir / "operator.token"

    @property
    def database(self) -> Path:
        """The one database."""
        return self.root / "netclaw.db"

    @property
    def lock(self) -> Path:
        """Held by the one process that may open the database."""
        return self.root / "netclaw.lock"

    @property
    def pid_file(self) -> Path:
        """Pid of the running daemon, as text."""
        return self.root / "netclaw.pid"


def _absolute(path: str) -> str:
    """The path from the root on; only a relative one needs the folder this process is in."""
    if path.startswith("/"):
        return path
    try:
        return f"{os.getcwd()}/{path}"  # noqa: PTH109 - text until resolved
    except FileNotFoundError:
        raise InvalidArgumentError(
            f"The home {path} is relative, and the current folder is gone.",
            fix=f"Change to another folder, or name {HOME_VARIABLE} from the root on.",
        ) from None


def find_home(environ: Mapping[str, str]) -> Home:
    """The home of this environment: `NETCLAW_HOME`, else `~/.netclaw`; need not exist yet."""
    named = environ.get(HOME_VARIABLE) or DEFAULT_HOME
    return Home(Path(resolve_path(os.path.expanduser(named))))  # noqa: PTH111 - text until resolved


def make_private_folder(folder: Path) -> None:
    """Create a folder, and those above it that are missing, that only their owner may enter.

    An existing folder is left as it is. Raises `StorageReadOnlyError` when it cannot be made.
    """
    try:
        missing = [place for place in folder.parents if not place.exists()]
        for place in (*reversed(missing), folder):  # `parents=True` would make these for everybody
            place.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InvalidArgumentError(
            f"{folder} is in the way: a part of it is not a folder.",
            fix=f"Move that file away, or point {HOME_VARIABLE} elsewhere.",
        ) from None
    except OSError as error:
        raise StorageReadOnlyError(
            f"The folder {folder} cannot be created: {error.strerror}."
        ) from None
