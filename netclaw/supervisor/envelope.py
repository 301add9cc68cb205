"""Binds sessions to their folders and finds bound ones again after the home was moved."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from netclaw.core import storage_layout as layout
from netclaw.core.ids import SessionId
from netclaw.core.settings import SessionStorage

_log = logging.getLogger(__name__)


class Envelopes:
    """The storage of all sessions of one home (S0 "Storage on disk", decision 20)."""

    def __init__(self, home: Path) -> None:
        self._home = str(home)
        self._is_told = False

    def new_root(self, session_id: SessionId) -> str:
        """Path to bind a new session to, for ever."""
        return layout.new_root(self._home, session_id)

    def storage(self, session_id: SessionId, stored_root: str) -> SessionStorage:
        """A session's folders as they are now; a moved home is said once, in one warning."""
        found = layout.reroot(stored_root, self._home)
        if found.moved_from is not None and not self._is_told:
            self._is_told = True
            _log.warning("the home was moved: %s is now %s", found.moved_from, found.root)
        return layout.storage_of(self._home, found.root, os.getuid(), session_id)
