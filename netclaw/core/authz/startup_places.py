"""Places whose contents programs run or obey on their own: changing one is running it later.

ADR 0044. A file tool writes unasked where the profile lets it; what it writes here would act
outside every sandbox, or in a command that nobody is asked about. So it asks (reference 2, the
control plane), for exactly this change.
"""

from __future__ import annotations

from netclaw.core.authz.facts import PathFact
from netclaw.core.authz.requests import Call, FileCall, Policy
from netclaw.core.path_rules import is_below, is_below_any
from netclaw.core.tool_call import FileOperation

GIT = ".git"
"""Configuration and hooks, at any depth: `git status` obeys them."""

SYSTEM = (
    *("/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/sbin"),
    *("/usr", "/var/lib", "/var/spool"),
)
"""Programs of the system, its settings and timed jobs; written by root alone."""

_PROGRAMS = ("bin",)
"""Of the user's home, beside everything that is hidden there."""


def is_startup_call(call: Call, policy: Policy) -> bool:
    """Whether a call of a file tool changes such a place, by its path or where that leads."""
    if not isinstance(call, FileCall) or call.operation is not FileOperation.WRITE:
        return False
    return is_startup_fact(call.fact, policy)


def is_startup_fact(fact: PathFact, policy: Policy) -> bool:
    """The same for a path that is to be written."""
    paths = {fact.canonical, fact.resolved or fact.canonical}
    return any(_is_startup(path, policy) for path in paths)


def _is_startup(path: str, policy: Policy) -> bool:
    if GIT in path.casefold().split("/"):
        return True
    if is_below_any(path, _trusted(policy)):
        return False
    return is_below_any(path, SYSTEM) or _is_of_the_user(path, policy.protected.user_home)


def _is_of_the_user(path: str, user_home: str) -> bool:
    """Hidden files and folders of the user's home: start-up files, settings, timers, programs."""
    if path == user_home or not is_below(path, user_home):
        return False
    first = path[len(user_home.rstrip("/")) + 1 :].split("/")[0]
    return first.startswith(".") or first in _PROGRAMS


def _trusted(policy: Policy) -> tuple[str, ...]:
    """What the session owns, and what the operator gave it to write by name. Not its project: a
    model declares that."""
    roots = [*policy.roots.own, *policy.profile.write.roots]
    if policy.roots.workspaces is not None:
        roots.append(policy.roots.workspaces)
    kept = (root for root in roots if not root.is_read_only)
    return tuple(path for root in kept for path in {root.canonical, root.resolved})
