"""Checks of files and folders: the home, who may read it, secrets, the log of crashes."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from netclaw.cli.doctor.findings import Finding, failed, passed, warned
from netclaw.cli.words import counted, size
from netclaw.config.home import Home
from netclaw.core.errors import NetclawError

if TYPE_CHECKING:
    from netclaw.config.tree import KeyPath
    from netclaw.core.settings import ToolSettings

CRASH_DAYS = 7
FREE_FAIL_BYTES = 16 * 1024 * 1024
FREE_WARN_BYTES = 1024 * 1024 * 1024
"""A tool can fill the disk that holds the database."""


def check_home(home: Home) -> Iterator[Finding]:
    """Whether the home exists, is ours, is private and has room."""
    root = home.root
    try:
        facts = root.stat()
    except FileNotFoundError:
        yield failed("home", f"{root} is not there yet.", "Run `netclaw init`.")
        return
    except OSError as error:
        yield failed("home", f"{root}: {error.strerror}.", "Run `netclaw init`.")
        return
    if not stat.S_ISDIR(facts.st_mode):
        yield failed("home", f"{root} is no folder.", "Point NETCLAW_HOME at a folder.")
        return
    if facts.st_uid != os.geteuid():
        yield warned("home", f"{root} belongs to user {facts.st_uid}.", f"chown -R $USER {root}")
    elif not os.access(root, os.W_OK | os.X_OK):
        yield failed("home", f"{root} cannot be written.", f"chmod u+rwx {root}")
    elif facts.st_mode & 0o077:
        yield warned("home", f"{root} is open to other users.", f"chmod 700 {root}")
    else:
        yield passed("home", f"{root} is private and can be written.")
    yield _free_space(root)


def check_agents(home: Home) -> Iterator[Finding]:
    """Whether every file among the agents is a definition; one that is not is left out alone."""
    from netclaw.tools.agent_files import read_agents

    problems = read_agents(str(home.root)).problems
    if problems:
        files = ", ".join(problem.source for problem in problems)
        yield warned(
            "agents",
            f"No agent comes of {files} in {home.root}/agents.",
            "`netclaw agents validate` says what is wrong.",
        )


def check_workspaces(tools: ToolSettings, home: Home) -> Iterator[Finding]:
    """Whether the folder of projects is there, if one was named; the home's own may be missing."""
    root = tools.workspaces
    if root is None or root.canonical == str(home.workspaces_dir) or Path(root.canonical).is_dir():
        return
    yield warned(
        "projects",
        f"Workspaces.Directory is {root.canonical}, and there is no such folder:"
        " no project can be declared below it.",
        "netclaw config set Workspaces.Directory FOLDER",
    )


def check_grants(home: Home) -> Finding:
    """Whether the stored grants can be used; the file is only looked at."""
    from netclaw.store.grants_file import QUARANTINE, look

    path = home.grants_file
    found = look(path)
    aside = sorted(path.parent.glob(f"{path.name}{QUARANTINE}*"))
    if found.version == 1:
        return warned(
            "grants",
            f"{path} is of version 1: the daemon moves it aside, and its grants do not count.",
            "Consent anew when you are asked.",
        )
    if found.fault is not None:
        return failed(
            "grants",
            f"{path}: {found.fault}. No stored grant counts.",
            f"Mend {path}, or move it away and consent anew.",
        )
    if aside:
        return warned(
            "grants",
            f"Grants of version 1 were moved aside to {aside[0].name}; they do not count.",
            f"Consent anew, then remove {aside[0]}.",
        )
    return passed("grants", f"{counted(len(found.grants), 'stored grant')}.")


def _free_space(root: Path) -> Finding:
    facts = os.statvfs(root)
    free = facts.f_bavail * facts.f_frsize
    text = f"{size(free)} are free on the disk of the home."
    if free < FREE_FAIL_BYTES:
        return failed("disk", text, "Free space; below 16 MiB nothing is written.")
    if free < FREE_WARN_BYTES:
        return warned("disk", text, "Free some space soon.")
    return passed("disk", text)


def check_permissions(home: Home) -> Finding:
    """Whether everything that must be private is."""
    wrong = []
    for path, allowed in (
        (home.config_dir, 0o755),
        (home.config_file, 0o644),
        (home.secrets_file, 0o600),
        (home.keys_dir, 0o700),
        (home.keys_dir / "ring.json", 0o600),
        (home.run_dir, 0o700),
        (home.operator_token, 0o600),
        (home.database, 0o600),
        (home.lock, 0o600),
        (home.logs_dir, 0o700),
        (home.sessions_dir, 0o700),
    ):
        try:
            mode = stat.S_IMODE(path.lstat().st_mode)
        except OSError:
            continue
        if mode & ~allowed:
            wrong.append((path, allowed))
    if not wrong:
        return passed("permissions", "Secrets, keys, tokens and sockets are private.")
    path, allowed = wrong[0]
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    fix = "; ".join(f"chmod {allowed:o} {path}" for path, allowed in wrong)
    return failed("permissions", f"{path}{more} may be used by others.", fix)


def check_secrets(home: Home) -> Finding:
    """Whether stored secrets are encrypted and can be opened."""
    from netclaw.config.secret_store import read_secrets
    from netclaw.config.tree import dotted, secret_paths

    try:
        content, warnings = read_secrets(home)
    except NetclawError as error:
        return failed("secrets", error.sentence, error.fix)
    plain = _plain_secrets(home)
    if plain:
        key = dotted(plain[0])
        return warned(
            "secrets",
            f"netclaw.json holds {key} in plain text.",
            f"Run `netclaw secrets set {key}`, then remove it from netclaw.json.",
        )
    if warnings:
        return warned("secrets", warnings[0], "Make the folder config/ writable.")
    held = len(secret_paths(content))
    return passed("secrets", f"{held} stored, encrypted." if held else "None are stored.")


def _plain_secrets(home: Home) -> list[KeyPath]:
    """Credentials in netclaw.json; a file that cannot be read is told of as `configuration`."""
    from netclaw.config.documents import read_document
    from netclaw.config.tree import canonicalise, secret_paths

    try:
        document = read_document(home.config_file)
        return list(secret_paths(canonicalise(document.value))) if document is not None else []
    except NetclawError:
        return []


def check_crashes(home: Home) -> Finding:
    """Whether the daemon crashed lately."""
    since = time.time() - CRASH_DAYS * 86_400
    try:
        found = [
            path
            for path in home.logs_dir.glob("crash-*.log")
            if (facts := path.stat()).st_mtime > since and facts.st_size
        ]
    except OSError:
        found = []
    if not found:
        return passed("crashes", f"None in {CRASH_DAYS} days.")
    newest = max(found, key=lambda path: path.stat().st_mtime)
    return warned(
        "crashes", f"{len(found)} in {CRASH_DAYS} days, the newest {newest}.", "Report that file."
    )
