"""What the sandbox of one command shows and lets it write, by folders and clearance."""

from __future__ import annotations

import os
from collections.abc import Iterator

from netclaw.core.authz.credential_access import may_be_shown
from netclaw.core.authz.path_access import Root
from netclaw.core.authz.reasons import DENIED_TEXTS, DenyReason
from netclaw.core.authz.sandbox_access import is_covered
from netclaw.core.path_rules import is_below, protected_paths
from netclaw.core.settings import SessionStorage
from netclaw.ports.shell_runner import SandboxProfile
from netclaw.tools.authorization.clearance import Clearance
from netclaw.tools.faults import ToolFault
from netclaw.tools.git_worktree import common_directory


def profile_of(clearance: Clearance, storage: SessionStorage) -> SandboxProfile | None:
    """The view of a cleared command; None where the operator lets commands run unconfined.

    Makes the session's own folders if they are not there. Raises `OSError`.
    """
    access = clearance.access
    if not access.is_confined:
        return None
    home, tmp = os.path.realpath(storage.home), os.path.realpath(storage.tmp)
    project = clearance.policy.roots.project
    is_read_only = project is not None and project.is_read_only
    writable = [*_own(clearance, storage, tmp), *(() if is_read_only else _project(project))]
    writable += filter(os.path.isdir, map(os.path.realpath, access.configured))
    return SandboxProfile(
        home=home,
        writable=tuple(dict.fromkeys(writable)),
        named=access.writable,
        readable=(project.resolved,) if project is not None and is_read_only else (),
        shown=access.readable,
        credentials=tuple(_credentials(clearance)),
        masked=(*protected_paths(home), os.path.realpath(storage.staging)),
        tmp=tmp,
        has_network=access.has_network,
    )


def _credentials(clearance: Clearance) -> Iterator[str]:
    """Those that are there, as the kernel will see them; links are followed."""
    protected = clearance.policy.protected
    for place in clearance.access.credentials:
        real = os.path.realpath(place)
        if os.path.exists(real) and may_be_shown(
            real, homes=protected.homes, user_home=protected.user_home
        ):
            yield real


def _own(clearance: Clearance, storage: SessionStorage, tmp: str) -> Iterator[str]:
    """The session's folders, but for the one around the run's temporary folder.

    Those of a run's parent only where they are: a folder appears when its session needs it.
    """
    envelope = os.path.realpath(storage.root)
    for root in clearance.policy.roots.own:
        if root.resolved == os.path.dirname(tmp):
            continue
        if is_below(root.resolved, envelope):
            os.makedirs(root.resolved, 0o700, exist_ok=True)
        elif not os.path.isdir(root.resolved):
            continue
        yield root.resolved


def _project(project: Root | None) -> Iterator[str]:
    """The project directory, and the Git directory that a linked worktree shares."""
    if project is None:
        return
    yield project.resolved
    common = common_directory(project.resolved)
    if common is not None:
        yield common


async def clear_again(clearance: Clearance) -> None:
    """Judges a command once more at its gate. Raises `ToolFault` if it may not run as planned.

    Its view is made by then: if it would be given less now, it does not run.
    """
    now = await clearance.again()
    if not is_covered(clearance.access, now.access):
        raise ToolFault.denied(DENIED_TEXTS[DenyReason.SHELL_PATHS_CHANGED])
