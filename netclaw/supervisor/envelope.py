"""Binds sessions to their folders and finds bound ones again after the home was moved."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Protocol

from netclaw.core import storage_layout as layout
from netclaw.core.errors import SchemaNewerError
from netclaw.core.ids import SessionId, chat_key, run_of_key
from netclaw.core.settings import SessionStorage

_log = logging.getLogger(__name__)


class Binding(Protocol):
    """What a session's row says of its folders; never changes."""

    @property
    def storage_layout(self) -> int:
        """Version of the envelope's layout; 0 is older than layouts."""

    @property
    def storage_root(self) -> str:
        """The absolute path it was bound to."""


class Envelopes:
    """The storage of all sessions of one home (S0 "Storage on disk", decision 20)."""

    def __init__(self, home: Path) -> None:
        self._home = str(home)
        self._is_told = False

    def new_root(self, session_id: SessionId) -> str:
        """Path to bind a new session to, for ever."""
        return layout.new_root(self._home, session_id)

    def storage(self, session_id: SessionId, bound: Binding) -> SessionStorage:
        """A session's folders, to work in.

        Raises `SchemaNewerError` for a layout of a newer program: nothing of it is touched.
        """
        check_layout(session_id, bound)
        return self.shown(session_id, bound)

    def shown(self, session_id: SessionId, bound: Binding) -> SessionStorage:
        """Where its folders are now, to be told; a moved home is said once, in one warning."""
        run_id = run_of_key(session_id)
        if run_id is not None:
            parent = bound.storage_root.removesuffix(layout.child_run_dir("", run_id))
            return layout.storage_of_run(
                self._home, self._found(parent), os.getuid(), chat_key(session_id), run_id
            )
        if bound.storage_layout == layout.UNVERSIONED:
            root = layout.unversioned_root(self._home, session_id, bound.storage_root)
        else:
            root = self._found(bound.storage_root)
        return layout.storage_of(self._home, root, os.getuid(), session_id)

    def _found(self, stored_root: str) -> str:
        found = layout.reroot(stored_root, self._home)
        if found.moved_from is not None and not self._is_told:
            self._is_told = True
            _log.warning("the home was moved: %s is now %s", found.moved_from, found.root)
        return found.root


def check_layout(session_id: SessionId, bound: Binding) -> None:
    """Refuse what a newer program made, with `SchemaNewerError`; everything else goes on."""
    if bound.storage_layout > layout.LAYOUT:
        raise SchemaNewerError(
            f"The session {session_id} was made by a newer netclaw (storage layout"
            f" {bound.storage_layout}); it was left as it is.",
            fix="Run the newer netclaw, or go on in another session.",
        )
