"""Which other sessions a turn may look at or write to (decision 62).

A watch grants nothing: what a watcher may read of its target is decided here, each time it asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.authority import Audience, narrower
from netclaw.core.ids import SessionId, is_child_key, is_run_of


class Visibility(StrEnum):
    """How far a session sees; each step includes the one before."""

    SELF = "self"
    TREE = "tree"
    """Itself and the runs below it, at any depth; not what it was spawned by."""
    AGENT = "agent"
    """And every session that works as the same agent."""
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """A session as this rule sees it.

    `audience` is of the asking turn where the session asks, no wider than its session's own, and
    the session's own where it is asked about.
    """

    session_id: SessionId
    audience: Audience
    agent: str = ""
    """The agent of a run; empty for every session that is none."""


def default_for(session_id: SessionId) -> Visibility:
    """A run sees its own tree, a conversation of people everything that its audience allows."""
    return Visibility.TREE if is_child_key(session_id) else Visibility.ALL


def may_see(asking: Party, target: Party, visibility: Visibility) -> bool:
    """Whether the asking turn may know of the target.

    Itself always. Nothing crosses to a broader audience: of any other session only one of the
    same audience or a narrower one.
    """
    if target.session_id == asking.session_id:
        return True
    if narrower(asking.audience, target.audience) is not target.audience:
        return False
    if visibility is Visibility.SELF:
        return False
    is_below = is_run_of(target.session_id, asking.session_id)
    if visibility is Visibility.TREE:
        return is_below
    return is_below or visibility is Visibility.ALL or target.agent == asking.agent
