"""Finds where the programs of this user keep what lets them in elsewhere.

No command sees them, whatever is bound beside them (ADR 0010). A folder is hidden whole, so that
what is renamed inside it stays hidden. A file is covered by itself, since its folder is somebody
else's: once a program of the host renames another file over it, a command that is already running
sees the new one. `core.credential_places` names them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from netclaw.core.credential_places import PLACES


def find_credentials(homes: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Every known place that exists, resolved, and whether it is a folder; about 0.1 ms a home."""
    for home in homes:
        for name in PLACES:
            path = f"{home}/{name}"
            if not os.access(path, os.F_OK):
                continue
            real = os.path.realpath(path)
            try:
                yield real, stat.S_ISDIR(os.lstat(real).st_mode)
            except OSError:
                continue  # gone meanwhile
