"""Builds the environment of a tool from an allow list: everything else does not exist.

Never passed on: `BASH_ENV`, `ENV`, exported functions, `LD_*`, `NETCLAW_*`, tokens, agent sockets
(decision 83, authorization reference "Shell launch re-check").
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DEFAULT_LANG = "C.UTF-8"

INHERITED = re.compile(r"LANG|LANGUAGE|LC_[A-Z]+|TZ|USER|LOGNAME")
"""Names taken over from the session process when their value is harmless."""

SETTABLE = re.compile(
    r"HOME|TMPDIR|TMP|TEMP|LANG|TZ|TERM|SHELL|PATH"
    r"|GIT_CONFIG_(COUNT|GLOBAL|(KEY|VALUE)_[0-9])"
    r"|(GH|GLAB)_CONFIG_DIR|CLOUDSDK_CONFIG|DOCKER_CONFIG|NPM_CONFIG_USERCONFIG"
)
"""Names a caller may set for one command; anything else it asks for is dropped."""

_HARMLESS_VALUE = re.compile(r"[A-Za-z0-9_.,:@+/ -]{1,128}")


def sane_path(value: str) -> str:
    """The folders of `value` that may be searched for programs, then the usual ones.

    Relative folders, those with control characters, and the world-writable temporary places are
    left out: a program planted there must never be found before the real one.
    """
    kept: list[str] = []
    for folder in [*value.split(":"), *DEFAULT_PATH.split(":")]:
        if not folder.startswith("/") or not folder.isprintable() or ".." in folder.split("/"):
            continue
        if folder.startswith(("/tmp/", "/var/tmp/", "/dev/shm/")):  # noqa: S108 - refused, not used
            continue
        if folder not in kept and os.path.isdir(folder):
            kept.append(folder)
    return ":".join(kept)


def build_environment(wanted: Mapping[str, str], host: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a command: allow-listed host values, then what the caller set.

    Values holding NUL or a newline are dropped: no program needs them and `env` output stays
    readable.
    """
    made = {
        name: value
        for name, value in host.items()
        if INHERITED.fullmatch(name) and _HARMLESS_VALUE.fullmatch(value)
    }
    made.setdefault("LANG", DEFAULT_LANG)
    made["PATH"] = host.get("PATH", "")
    made["TERM"] = "dumb"
    made["SHELL"] = "/bin/sh"
    made |= {
        name: value
        for name, value in wanted.items()
        if SETTABLE.fullmatch(name) and "\0" not in value and "\n" not in value
    }
    made["PATH"] = sane_path(made["PATH"])
    return made
