"""Makes the policy that calls of one session are judged by: settings, folders, audience.

Nothing in here opens a file; looking at folders may block, so it belongs into a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from netclaw.core.authz.deny_catalogue import BUILT_IN
from netclaw.core.authz.path_access import Root
from netclaw.core.authz.profiles import SessionRoots
from netclaw.core.authz.protected import ProtectedPaths, spellings
from netclaw.core.authz.requests import Policy
from netclaw.core.settings import SessionStorage
from netclaw.ports.shell_runner import SandboxFacts
from netclaw.ports.tool import ToolContext
from netclaw.tools.places import project_directory, real_area

_SHARED = ("sessions", "logs")
"""Below the home; the operator's own audience alone (reference 4)."""


def user_home() -> str:
    """The operator's home, resolved."""
    return os.path.realpath(os.path.expanduser("~"))


def policy_for(context: ToolContext, sandbox: SandboxFacts, native: Iterable[str]) -> Policy:
    """The policy of this moment; `native` are the first-party tools that the model can see."""
    storage, settings = context.storage, context.settings
    return Policy(
        profile=settings.profile_of(context.authority.requester.audience),
        roots=session_roots(context),
        protected=ProtectedPaths(
            homes=spellings((storage.home, os.path.realpath(storage.home))), user_home=user_home()
        ),
        shell_mode=settings.shell_mode,
        has_sandbox=sandbox.backend is not None,
        native_tools=frozenset(native),
        deny_rules=(*BUILT_IN, *settings.deny_rules),
    )


def session_roots(context: ToolContext) -> SessionRoots:
    """The folders that a session brings with it."""
    storage = context.storage
    project = project_directory(context)
    return SessionRoots(
        own=(*_envelope(storage), _root(os.path.dirname(storage.tmp))),
        envelope=_whole(storage),
        project=(
            Root(
                canonical=project.announced,
                resolved=project.real,
                is_read_only=not project.is_writable,
            )
            if project is not None
            else None
        ),
        global_read=context.settings.global_read_roots,
        workspaces=context.settings.workspaces,
        shared=tuple(_root(f"{storage.home}/{name}") for name in _SHARED),
    )


def _envelope(storage: SessionStorage) -> tuple[Root, ...]:
    """Folders of the session's own; one that became a link is not taken for what it leads to."""
    return tuple(Root(canonical=path, resolved=real_area(path)) for path in storage.areas)


def _whole(storage: SessionStorage) -> Root:
    """The envelope with the session's log, to read; it is not written but in its own areas.

    For a run it is its parent's, in which its own lies (glossary "raw session log").
    """
    outer = storage.outer
    return Root(canonical=outer, resolved=os.path.realpath(outer), is_read_only=True)


def _root(path: str) -> Root:
    return Root(canonical=os.path.normpath(path), resolved=os.path.realpath(path))
