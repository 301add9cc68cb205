"""Places that no file tool opens, beside those that authorization protects by their names.

Credentials, other netclaw homes, other sessions' temporary folders, the internal parts of
envelopes, and the kernel's own file systems: a link, a mode All or a consent does not open them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from netclaw.core.path_rules import is_below, is_below_any
from netclaw.core.settings import SessionStorage
from netclaw.core.tool_call import FileOperation
from netclaw.tools.places import real_area
from netclaw.tools.private import is_in_foreign_home, is_internal, private_places

KERNEL = ("/dev", "/proc", "/sys")
"""What lies there is no content: it is the state of processes, the daemon's own included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedPlaces:
    """The closed places of one session; every path in here is resolved."""

    home: str
    sessions: str
    """The folder of every session's envelope."""
    envelope: str
    """The session's own; for a run its parent's, in which its own lies."""
    writable: tuple[str, ...]
    """What may be written in the envelope."""
    key_folder: str
    """The session's own temporary folder; its siblings are other sessions'."""
    private: tuple[str, ...]
    """Where credentials and default homes lie."""

    def is_closed(self, real: str, operation: FileOperation) -> bool:
        """Whether a resolved path is closed to an operation. Looks at the file system."""
        if is_below_any(real, KERNEL) or is_internal(real, self.sessions, self.envelope):
            return True
        if is_below(real, os.path.dirname(self.key_folder)):
            return not is_below(real, self.key_folder)
        if self._is_private(real):
            return True
        return operation is FileOperation.WRITE and self._is_others(real)

    def list_for_search(self, start: str) -> tuple[str, ...]:
        """The closed places that can be listed, for a walk down from `start`."""
        temporary = os.path.dirname(self.key_folder)
        others = () if is_below(start, self.key_folder) else (temporary,)
        return (*KERNEL, *others, *self.private)

    def _is_private(self, real: str) -> bool:
        if is_below(real, self.home):
            return False
        return is_below_any(real, self.private) or is_in_foreign_home(real, self.home)

    def _is_others(self, real: str) -> bool:
        """In the sessions' folder, and not in what this session may write there."""
        is_storage = is_below(real, self.sessions) or is_below(real, self.envelope)
        return is_storage and not is_below_any(real, self.writable)


def closed_places(storage: SessionStorage) -> ClosedPlaces:
    """Those of one session, worked out anew."""
    home, envelope = os.path.realpath(storage.home), os.path.realpath(storage.outer)
    return ClosedPlaces(
        home=home,
        sessions=f"{home}/sessions",
        envelope=envelope,
        writable=tuple(map(real_area, storage.areas)),
        key_folder=os.path.realpath(os.path.dirname(storage.tmp)),
        private=private_places(home),
    )
