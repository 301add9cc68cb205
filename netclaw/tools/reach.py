"""Judges what one call of a file tool may touch: before it opens anything, and once it is open.

The decision is authorization's (`path_access`); in here are the facts it needs, the place that a
path is opened beneath, and the second judgement, of where a descriptor really is (decision 88).
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass

from netclaw.core.authz import path_access
from netclaw.core.authz.facts import PathFact
from netclaw.core.authz.path_access import FileMode, FileReach
from netclaw.core.authz.profiles import reach_of
from netclaw.core.authz.reasons import CORRECTION_TEXTS
from netclaw.core.authz.requests import Policy
from netclaw.core.authz.startup_places import is_startup_call, is_startup_fact
from netclaw.core.path_rules import is_below, is_below_any
from netclaw.core.tool_call import FileOperation
from netclaw.tools.closed import ClosedPlaces, closed_places
from netclaw.tools.faults import Remediation, ToolFault
from netclaw.tools.places import PRIVATE_UMASK, Places, Root, places_for
from netclaw.tools.tool import Scope

PROTECTED = "The path is protected."
LEADS_OUT = "The path leads out of its folder through a link."


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A judged path: `relative` is to be opened beneath `root`, never by its full name."""

    root: Root
    relative: str
    """`.` for the root itself."""
    path: str
    """The canonical path, as results and receipts name it."""
    operation: FileOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The places and the policy of one call. Everything in here may block: it looks at files."""

    places: Places
    policy: Policy
    closed: ClosedPlaces
    umask: int
    is_startup_judged: bool = False
    """Whether the call was judged as one that changes what runs by itself."""

    def locate(self, text: str, operation: FileOperation) -> Located:
        """Judge a path that a model wrote. Raises `ToolFault`; opens nothing."""
        canonical = self.places.canonical(text)
        if not text.startswith("/"):
            self._require_base()
        fact = look(canonical)
        self._require(fact, operation)
        reach = self._reach(operation)
        root = path_access.holding_root(fact, operation, reach)
        if reach.mode is FileMode.ALL or root is None:
            real = _beside(canonical) if operation is FileOperation.WRITE else fact.resolved or ""
            place = Root(announced="/", real="/", umask=self._umask(real))
            return _located(place, real, canonical, operation)
        if root.is_file:
            folder = os.path.dirname(root.resolved)
            place = Root(announced=folder, real=folder, umask=PRIVATE_UMASK)
            return _located(place, root.resolved, canonical, operation)
        start = root.canonical if is_below(canonical, root.canonical) else root.resolved
        place = Root(
            announced=start,
            real=root.resolved,
            umask=self._umask(root.resolved),
            is_own=is_below(root.resolved, self.closed.envelope),
        )
        return _located(place, canonical, canonical, operation)

    def judge_real(self, located: Located, real: str) -> None:
        """Judge where an opened descriptor really is. Raises `ToolFault`."""
        if not is_below(real, located.root.real):
            raise ToolFault.denied(LEADS_OUT)
        fact = PathFact(canonical=real, resolved=real)
        self._require(fact, located.operation)
        is_writing = located.operation is FileOperation.WRITE
        if is_writing and not self.is_startup_judged and is_startup_fact(fact, self.policy):
            raise ToolFault.denied(LEADS_OUT)

    def is_readable(self, real: str) -> bool:
        """Whether a folder met on the way down may be looked into."""
        return not self._fault(PathFact(canonical=real, resolved=real), FileOperation.READ)

    def closed_for_search(self, start: str) -> list[str]:
        """What a search that begins in `start` leaves out."""
        return [*self.policy.protected.hidden(), *self.closed.list_for_search(start)]

    def _require_base(self) -> None:
        """A base that is not there is no denial (glossary "relative base availability")."""
        if self.places.is_base_own and not os.path.isdir(self.closed.envelope):
            raise ToolFault.correction(
                CORRECTION_TEXTS[Remediation.SET_WORKING_DIRECTORY],
                remediation=Remediation.SET_WORKING_DIRECTORY,
            )

    def _require(self, fact: PathFact, operation: FileOperation) -> None:
        fault = self._fault(fact, operation)
        if fault:
            raise ToolFault.denied(fault)

    def _fault(self, fact: PathFact, operation: FileOperation) -> str:
        reach = self._reach(operation)
        decision = path_access.decide(fact, operation, reach, self.policy.protected)
        if not decision.is_allowed:
            return decision.detail
        real = fact.resolved or fact.canonical
        return PROTECTED if self.closed.is_closed(real, operation) else ""

    def _reach(self, operation: FileOperation) -> FileReach:
        return reach_of(self.policy.profile, operation, self.policy.roots)

    def _umask(self, real: str) -> int:
        """All is kept from others, but what is made outside the session's own folders."""
        own = (self.closed.envelope, self.closed.key_folder, self.closed.home)
        return PRIVATE_UMASK if is_below_any(real, own) else self.umask


def _located(root: Root, path: str, canonical: str, operation: FileOperation) -> Located:
    relative = path[len(root.announced.rstrip("/")) + 1 :] or "."
    return Located(root=root, relative=relative, path=canonical, operation=operation)


def _beside(canonical: str) -> str:
    """Where a file is made or replaced: its folder resolved, its own name as it is."""
    folder, _, name = canonical.rpartition("/")
    real = _resolved(folder or "/")
    if real is None:
        raise ToolFault.denied(LEADS_OUT)
    return f"{real.rstrip('/')}/{name}"


def look(canonical: str) -> PathFact:
    """What is known of a canonical path: where it leads, or that nobody can tell."""
    return PathFact(canonical=canonical, resolved=_resolved(canonical))


def _resolved(path: str) -> str | None:
    """The path without links, None for a circle of them and for what changes while it is read."""
    try:
        return os.path.realpath(path, strict=True)
    except OSError as fault:
        if fault.errno == errno.ELOOP:
            return None
    try:
        return os.path.realpath(path)
    except OSError:
        return None


def reach_for(scope: Scope) -> Reach:
    """The reach of a call that was judged, by the policy that it was judged by."""
    context = scope.context
    return Reach(
        places=places_for(context),
        policy=scope.clearance.policy,
        closed=closed_places(context.storage),
        umask=context.settings.umask,
        is_startup_judged=is_startup_call(scope.clearance.request.call, scope.clearance.policy),
    )
