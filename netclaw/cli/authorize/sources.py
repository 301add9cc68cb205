"""What a rehearsal looks up beside the configuration: the sandbox that works here, the grants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netclaw.core.authz.grants import GrantStore
from netclaw.core.settings import ShellMode, ToolSettings
from netclaw.ports.shell_runner import SandboxFacts

if TYPE_CHECKING:
    from netclaw.config.home import Home


def sandbox_of(settings: ToolSettings) -> SandboxFacts:
    """The sandbox that works on this machine; not tried where none is wanted."""
    from netclaw.sandbox.probe import prove_backends

    if settings.shell_mode is ShellMode.OFF:
        return SandboxFacts(backend=None, program="", why="", limits="")
    return prove_backends(settings)


def stored_grants(home: Home) -> GrantStore:
    """The grants of this moment, as the file holds them; a fault says why it cannot be believed.

    Read as the daemon reads it at every check, and never changed: a file of version 1, which the
    daemon moves aside, holds none.
    """
    from netclaw.store.grants_file import look

    found = look(home.grants_file)
    if found.version == 1:
        return GrantStore()
    return GrantStore(grants=found.grants, fault=found.fault)
