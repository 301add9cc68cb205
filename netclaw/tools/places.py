"""Says which folders a session has, and which path a model means; judging it is `reach`'s.

A session's folders are its own envelope areas, its temporary key folder and the declared project
directory, which is the first base of relative paths (glossary "project scope").
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from netclaw.core.authority import Audience
from netclaw.core.authz.facts import PathFact
from netclaw.core.authz.path_access import FileMode, holding_root
from netclaw.core.authz.path_access import Root as TrustedRoot
from netclaw.core.authz.profiles import AudienceProfile, SessionRoots, reach_of
from netclaw.core.path_rules import is_below, is_below_any, may_be_writable, protected_paths
from netclaw.core.settings import SessionStorage, ToolSettings
from netclaw.core.tool_call import FileOperation
from netclaw.ports.tool import ToolContext
from netclaw.tools.faults import ToolFault
from netclaw.tools.private import is_private

MAX_PATH_CHARS = 4096
PRIVATE_UMASK = 0o077
WORKSPACES = "workspaces"
"""The one folder of the netclaw home that is there for projects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """One folder a tool may go beneath: as it is announced to the model, and resolved."""

    announced: str
    real: str
    is_writable: bool = True
    is_own: bool = False
    """A folder of the session's envelope: made when it is first needed."""
    umask: int = PRIVATE_UMASK
    """What new files and folders below it lack: all for others, but in the operator's project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The folders of one session at one call, and where its relative paths begin."""

    roots: tuple[Root, ...]
    base: str
    home: str
    is_base_own: bool
    """Whether the base is the session directory, for there is no usable project."""

    def canonical(self, text: str) -> str:
        """The full normal path that a model means. Raises `ToolFault`."""
        if not text:
            return self.base
        if len(text) > MAX_PATH_CHARS:
            raise ToolFault.invalid("The path is too long.")
        if any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in text):
            raise ToolFault.invalid("The path holds a control character.")
        if text == "~" or text.startswith("~/"):
            raise ToolFault.correction("`~` is not expanded; give the full path.")
        joined = text if text.startswith("/") else f"{self.base}/{text}"
        return "/" + os.path.normpath(joined).lstrip("/")


def places_for(context: ToolContext) -> Places:
    """The places of one call, worked out anew: a declared directory may have gone meanwhile."""
    storage = context.storage
    home = os.path.realpath(storage.home)
    roots = [Root(announced=path, real=real_area(path), is_own=True) for path in storage.areas]
    key_folder = os.path.dirname(storage.tmp)
    roots.append(Root(announced=key_folder, real=os.path.realpath(key_folder)))
    base = storage.workspace
    project = project_directory(context)
    if project is not None:
        roots.append(project)
        base = project.announced
    return Places(roots=tuple(roots), base=base, home=home, is_base_own=project is None)


def real_area(path: str) -> str:
    """A folder of an envelope, wherever that is. Not the resolved folder itself: one that became a
    link must not be taken for ours.
    """
    return f"{os.path.realpath(os.path.dirname(path))}/{os.path.basename(path)}"


def ensure_own(root: Root) -> None:
    """Makes a folder of the envelope, private. Raises `OSError`."""
    if root.is_own:
        os.makedirs(root.real, 0o700, exist_ok=True)


def project_directory(context: ToolContext) -> Root | None:
    """The declared project directory of a call's session, if it is usable."""
    return usable_project(
        context.working_directory,
        audience=context.authority.requester.audience,
        storage=context.storage,
        settings=context.settings,
    )


def is_closed_to_projects(real: str, storage: SessionStorage) -> bool:
    """Whether a resolved folder is a netclaw's, holds other sessions' files, or is private."""
    home = os.path.realpath(storage.home)
    if is_below(real, f"{home}/{WORKSPACES}"):
        return False
    # The folder of every session's temporary files; a session's own needs no declaration.
    temporary = os.path.realpath(os.path.dirname(os.path.dirname(storage.tmp)))
    return is_below_any(real, (home, temporary)) or is_private(real, home)


def usable_project(
    declared: str, *, audience: Audience, storage: SessionStorage, settings: ToolSettings
) -> Root | None:
    """The declared project directory, if it is usable and the audience may have one.

    An absent or unusable base is not an error: the session directory takes its place (glossary
    "relative base availability"). It gives a bounded profile nothing that its roots do not give.
    """
    if audience is Audience.PUBLIC or not declared.startswith("/"):
        return None
    try:
        real = os.path.realpath(declared)
    except OSError:
        return None  # a part of it became something else while it was followed
    home = os.path.realpath(storage.home)
    own = [os.path.realpath(path) for path in storage.project_places]
    if not os.path.isdir(real) or real != os.path.normpath(declared):
        return None  # gone, or no more the folder that was judged: a link leads elsewhere
    if not is_below_any(real, own) and is_closed_to_projects(real, storage):
        return None
    user_home = os.path.realpath(os.path.expanduser("~"))
    is_writable = may_be_writable(
        real, user_home=user_home, protected=(home, *protected_paths(home))
    )
    profile, fact = settings.profile_of(audience), PathFact(canonical=real, resolved=real)
    roots = SessionRoots(
        own=tuple(TrustedRoot(canonical=path, resolved=path) for path in own),
        global_read=settings.global_read_roots,
    )
    if not _is_reached(fact, profile, FileOperation.READ, roots):
        return None
    return Root(
        announced=os.path.normpath(declared),
        real=real,
        is_writable=is_writable and _is_reached(fact, profile, FileOperation.WRITE, roots),
        umask=settings.umask,
    )


def _is_reached(
    fact: PathFact, profile: AudienceProfile, operation: FileOperation, roots: SessionRoots
) -> bool:
    reach = reach_of(profile, operation, roots)
    return reach.mode is FileMode.ALL or (
        reach.mode is FileMode.ROOTS and holding_root(fact, operation, reach) is not None
    )
