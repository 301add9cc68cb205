"""Decides whether one file operation may touch one path (glossary "path access decision").

Pure: what a path is, and where its links lead, are facts a port gives. The order is the
reference's: canonical form, mode and roots, links, protection by operation. A denial is terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.authz.facts import PathFact
from netclaw.core.authz.protected import ProtectedPaths
from netclaw.core.authz.text_gate import is_control
from netclaw.core.path_rules import is_below
from netclaw.core.tool_call import FileOperation

MAX_PATH_CHARS = 4096


class FileMode(StrEnum):
    """How far a file operation of an audience reaches (`ReadFiles.Mode`, ...)."""

    NONE = "None"
    ROOTS = "Roots"
    ALL = "All"


class PathFailure(StrEnum):
    """Why a path is denied."""

    INVALID_PATH = "invalid_path"
    MODE_NONE = "file_mode_none"
    OUTSIDE_ROOTS = "outside_roots"
    LINK_BOUNDARY = "link_boundary"
    PROTECTED = "protected_for_operation"
    WRONG_FILE = "wrong_exact_file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """One trusted root: a folder, or with `is_file` one exact file. Both forms are absolute."""

    canonical: str
    resolved: str
    is_read_only: bool = False
    is_file: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReach:
    """What an audience's profile gives one operation in one session."""

    mode: FileMode
    roots: tuple[Root, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PathDecision:
    """Allowed if `failure` is None; `detail` is what people read and reveals no root."""

    failure: PathFailure | None = None
    detail: str = ""

    @property
    def is_allowed(self) -> bool:
        """Whether the operation may go on."""
        return self.failure is None


ALLOWED = PathDecision()

_DETAILS = {
    PathFailure.INVALID_PATH: "The path is not usable: it must be absolute, clean and short.",
    PathFailure.MODE_NONE: "This operation on files is not available in this conversation.",
    PathFailure.OUTSIDE_ROOTS: "The path is outside the folders this conversation may use.",
    PathFailure.LINK_BOUNDARY: "The path leads out of its folder through a link.",
    PathFailure.PROTECTED: "The path is protected.",
    PathFailure.WRONG_FILE: "Only one file in that place may be used.",
}


def _denied(failure: PathFailure) -> PathDecision:
    return PathDecision(failure=failure, detail=_DETAILS[failure])


def is_usable(path: str) -> bool:
    """Whether a path text can be judged at all."""
    is_short = 0 < len(path) <= MAX_PATH_CHARS
    return is_short and path.startswith("/") and not any(map(is_control, path)) and "\n" not in path


def decide(
    fact: PathFact, operation: FileOperation, reach: FileReach, protected: ProtectedPaths
) -> PathDecision:
    """The decision for one path.

    `DeclareProjectScope` stays within the trusted roots in mode All too.
    """
    if not is_usable(fact.canonical) or fact.is_ambiguous:
        return _denied(PathFailure.INVALID_PATH)
    if reach.mode is FileMode.NONE:
        return _denied(PathFailure.MODE_NONE)
    if reach.mode is FileMode.ROOTS or operation is FileOperation.DECLARE_PROJECT_SCOPE:
        failure = _against_roots(fact, operation, reach.roots)
        if failure is not None:
            return _denied(failure)
    if protected.is_protected(fact, operation):
        return _denied(PathFailure.PROTECTED)
    return ALLOWED


def _against_roots(
    fact: PathFact, operation: FileOperation, roots: Sequence[Root]
) -> PathFailure | None:
    """Why no root allows the path; None if one does. Compares case exactly."""
    wanted = _usable(operation, roots)
    holding = [root for root in wanted if _holds(root, fact.canonical)]
    if not holding:
        is_beside = any(root.is_file and _is_beside(root, fact.canonical) for root in wanted)
        return PathFailure.WRONG_FILE if is_beside else PathFailure.OUTSIDE_ROOTS
    if fact.resolved is None or not any(_leads_inside(root, fact) for root in holding):
        return PathFailure.LINK_BOUNDARY
    return None


def holding_root(fact: PathFact, operation: FileOperation, reach: FileReach) -> Root | None:
    """The root that a path is opened beneath: the first that holds it and all it leads to."""
    roots = _usable(operation, reach.roots)
    return next(
        (root for root in roots if _holds(root, fact.canonical) and _leads_inside(root, fact)), None
    )


def _usable(operation: FileOperation, roots: Sequence[Root]) -> list[Root]:
    """Roots that count for an operation. A project is declared where it may be read."""
    is_reading = operation in (FileOperation.READ, FileOperation.DECLARE_PROJECT_SCOPE)
    return [root for root in roots if is_reading or not root.is_read_only]


def _holds(root: Root, path: str) -> bool:
    if root.is_file:
        return path in (root.canonical, root.resolved)
    return is_below(path, root.canonical) or is_below(path, root.resolved)


def _is_beside(root: Root, path: str) -> bool:
    return is_below(path, root.canonical.rpartition("/")[0] or "/")


def _leads_inside(root: Root, fact: PathFact) -> bool:
    """Whether the resolved path is still in the root."""
    resolved = fact.resolved or ""
    return resolved == root.resolved if root.is_file else is_below(resolved, root.resolved)
