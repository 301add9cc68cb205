"""Says where a session's file tools may go, and turns what a model wrote into a judged path.

Minimal and safe (issue 2 item 6): a session's own envelope areas, its temporary key folder and,
for the operator's audience, the declared project directory. Everything else is denied, the
netclaw home above all. A path is judged by its text first and, once opened, by where the
descriptor really leads (decision 88).
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from netclaw.core.authority import Audience
from netclaw.core.path_rules import is_below, is_below_any, may_be_writable, protected_paths
from netclaw.core.settings import SessionStorage
from netclaw.core.tool_call import FileOperation
from netclaw.ports.tool import ToolContext
from netclaw.tools.faults import Remediation, ToolFault
from netclaw.tools.private import is_private

MAX_PATH_CHARS = 4096
PRIVATE_UMASK = 0o077


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
class Located:
    """A judged path: `relative` is to be opened beneath `root`, never by its full name."""

    root: Root
    relative: str
    """`.` for the root itself."""

    @property
    def path(self) -> str:
        """The canonical path, as results and receipts name it."""
        if self.relative == ".":
            return self.root.announced
        return f"{self.root.announced.rstrip('/')}/{self.relative}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What one call may reach, and where its relative paths begin."""

    roots: tuple[Root, ...]
    base: str
    home: str

    def locate(self, text: str, operation: FileOperation) -> Located:
        """Judges a path a model wrote. Raises `ToolFault`; never touches the file."""
        canonical = self.canonical(text)
        for root in self.roots:
            for folder in (root.announced, root.real):
                if is_below(canonical, folder):
                    return self._beneath(root, canonical[len(folder.rstrip("/")) + 1 :], operation)
        raise ToolFault.denied(
            "That path is outside the session's folders and its project directory.",
            remediation=Remediation.SET_WORKING_DIRECTORY,
        )

    def judge_real(self, root: Root, real: str) -> None:
        """Judges where an opened descriptor really is. Raises `ToolFault`."""
        if not is_below(real, root.real):
            raise ToolFault.denied("That path leads out of its folder through a link.")
        if self.is_protected(real):
            raise ToolFault.denied("That path is protected.")

    def is_protected(self, real: str) -> bool:
        """Whether a resolved path is netclaw's own outside this session's folders, or private."""
        if is_below_any(real, self.own):
            return False
        return is_below(real, self.home) or is_private(real, self.home)

    @property
    def own(self) -> list[str]:
        """The session's own folders inside the netclaw home, resolved."""
        return [root.real for root in self.roots if is_below(root.real, self.home)]

    def _beneath(self, root: Root, relative: str, operation: FileOperation) -> Located:
        if operation is not FileOperation.READ and not root.is_writable:
            raise ToolFault.denied(f"Nothing may be written directly below {root.announced}.")
        return Located(root=root, relative=relative or ".")

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
    envelope = os.path.realpath(storage.root)
    roots = [
        # Not the resolved folder itself: one that became a link must not be taken for ours.
        Root(announced=path, real=f"{envelope}/{os.path.basename(path)}", is_own=True)
        for path in (storage.workspace, storage.artifacts, storage.worktrees)
    ]
    key_folder = os.path.dirname(storage.tmp)
    roots.append(Root(announced=key_folder, real=os.path.realpath(key_folder)))
    base = storage.workspace
    project = project_directory(context)
    if project is not None:
        roots.append(project)
        base = project.announced
    return Places(roots=tuple(roots), base=base, home=home)


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
        umask=context.settings.umask,
    )


def is_closed_to_projects(real: str, storage: SessionStorage) -> bool:
    """Whether a resolved folder is a netclaw's, holds other sessions' files, or is private."""
    home = os.path.realpath(storage.home)
    # The folder of every session's temporary files; a session's own needs no declaration.
    temporary = os.path.realpath(os.path.dirname(os.path.dirname(storage.tmp)))
    return is_below_any(real, (home, temporary)) or is_private(real, home)


def usable_project(
    declared: str, *, audience: Audience, storage: SessionStorage, umask: int
) -> Root | None:
    """The declared project directory, if it is usable and the audience may have one.

    An absent or unusable base is not an error: the session directory takes its place (glossary
    "relative base availability").
    """
    if audience is not Audience.PERSONAL or not declared.startswith("/"):
        return None
    real = os.path.realpath(declared)
    home = os.path.realpath(storage.home)
    own = [os.path.realpath(path) for path in (storage.workspace, storage.worktrees)]
    if not os.path.isdir(real) or real != os.path.normpath(declared):
        return None  # gone, or no more the folder that was judged: a link leads elsewhere
    if not is_below_any(real, own) and is_closed_to_projects(real, storage):
        return None
    user_home = os.path.realpath(os.path.expanduser("~"))
    is_writable = may_be_writable(
        real, user_home=user_home, protected=(home, *protected_paths(home))
    )
    return Root(
        announced=os.path.normpath(declared), real=real, is_writable=is_writable, umask=umask
    )
