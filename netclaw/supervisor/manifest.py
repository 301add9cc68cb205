"""Remembers across a stop which sessions were at work, so that they are warm again at once.

S0 "Recovery and restart": the daemon saves a manifest of active sessions and warms them up before
normal traffic resumes; sessions that were idle stay cold. The journal alone decides what runs; a
lost manifest costs nothing but the warm-up.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from pathlib import Path

from netclaw.core.errors import InvalidArgumentError
from netclaw.core.ids import SessionId, parse_session_id

_log = logging.getLogger(__name__)

MANIFEST = "warm-sessions.json"
MANIFEST_LIMIT = 500


def write_manifest(run_dir: Path, session_ids: Iterable[SessionId]) -> None:
    """Save which sessions to warm, whole or not at all; a disk that takes nothing is only logged.

    The file is this user's alone, and a link in its place is replaced, never followed.
    """
    path = run_dir / MANIFEST
    fresh = run_dir / f"{MANIFEST}.new"
    listed = sorted(session_ids)[:MANIFEST_LIMIT]
    try:
        if not listed:
            path.unlink(missing_ok=True)
            return
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(listed, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        _log.warning("the manifest of warm sessions was not saved: %s", error.strerror)


def take_manifest(run_dir: Path) -> tuple[SessionId, ...]:
    """Read the manifest once and remove it; a malformed one is as good as none."""
    path = run_dir / MANIFEST
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
        return tuple(parse_session_id(item) for item in listed if isinstance(item, str))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, InvalidArgumentError):
        _log.warning("the manifest of warm sessions cannot be read; nothing is warmed up")
        path.unlink(missing_ok=True)
        return ()
