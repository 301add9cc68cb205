"""Other sessions as tools see them: looked at, listed, read, written to, given a goal.

The supervisor answers. Which session a call may see is decided there, by its own record of the
asking session and the authority of the asking turn, never wider than that record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from netclaw.core.authority import Authority
from netclaw.core.errors import NotFoundError
from netclaw.core.ids import CallId, TurnId
from netclaw.core.session.goal_events import GoalStatus
from netclaw.core.session.inter_session import SendStatus
from netclaw.core.signals.events import SignalKind

OWN = "current"
"""Names the asking session itself, as an empty key does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The turn that asks."""

    turn_id: TurnId
    authority: Authority


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusQuestion:
    """How a session stands, and with `since` what changed after that version."""

    asking: Asking
    key: str = ""
    since: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeView:
    """One change as models see it: never what was said."""

    sequence: int
    kind: SignalKind
    actor_type: str
    occurred_at: int
    summary: str
    actor_id: str = ""
    run_id: str = ""
    outcome: str = ""
    channel: str = ""
    turns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesView:
    """Changes after a version, oldest first."""

    events: tuple[ChangeView, ...] = ()
    is_truncated: bool = False
    earliest_available: int = 0
    has_history_gap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusView:
    """A session as of now."""

    key: str
    is_own: bool
    state_version: int
    text: str
    changes: ChangesView | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuestion:
    """Which sessions; empty and 0 choose nothing, but for `limit`."""

    asking: Asking
    kinds: tuple[str, ...] = ()
    label: str = ""
    search: str = ""
    active_minutes: int = 0
    message_limit: int = 0
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuestion:
    """Messages of a session, counted from the newest."""

    asking: Asking
    key: str
    limit: int
    offset: int = 0
    with_tools: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOrder:
    """A message to the session that `key` or `label` names."""

    asking: Asking
    call_id: CallId
    message: str
    key: str = ""
    label: str = ""
    watch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitQuestion:
    """Whether the turn of the call's message is over, asked for so long."""

    call_id: CallId
    patience_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SendReport:
    """What became of a message so far; `accepted` while its turn is not over."""

    status: SendStatus
    key: str = ""
    input_id: str = ""
    """Of the target; empty if nothing was admitted."""
    reply: str = ""
    error: str = ""
    is_watched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalQuestion:
    """The goal of a session, and what is to become of it: nothing, a new one, a status."""

    asking: Asking
    key: str = ""
    create: str | None = None
    status: GoalStatus | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalView:
    """A session's goal as of now; no text means that there is none."""

    key: str
    text: str
    status: GoalStatus
    is_changed: bool = False


class Sessions(Protocol):
    """All sessions, for one call; every method raises a `NetclawError` to refuse."""

    async def status(self, key: str, *, since: int | None) -> StatusView:
        """How a session stands."""

    async def listed(self, question: ListQuestion) -> str:
        """The sessions that this call may see, a page of them, as JSON text."""

    async def history(self, question: HistoryQuestion) -> str:
        """Messages of a session as JSON text, bounded and redacted."""

    async def send(self, *, key: str, label: str, message: str, watch: bool) -> SendReport:
        """Send a message; returns once it is durable. The same call sends it once."""

    async def wait(self, patience_s: float) -> SendReport:
        """What became of this call's message; `accepted` if its turn is not over in time."""

    async def goal(
        self, key: str, *, create: str | None = None, status: GoalStatus | None = None
    ) -> GoalView:
        """A session's goal, after the change if one is asked for."""

    @property
    def asking(self) -> Asking:
        """The turn of this call."""


class NoSessions:
    """Where no other session can be: the context of a call that is only judged."""

    async def status(self, key: str, *, since: int | None) -> StatusView:
        """See `Sessions`."""
        del key, since
        raise _gone()

    async def listed(self, question: ListQuestion) -> str:
        """See `Sessions`."""
        del question
        raise _gone()

    async def history(self, question: HistoryQuestion) -> str:
        """See `Sessions`."""
        del question
        raise _gone()

    async def send(self, *, key: str, label: str, message: str, watch: bool) -> SendReport:
        """See `Sessions`."""
        del key, label, message, watch
        raise _gone()

    async def wait(self, patience_s: float) -> SendReport:
        """See `Sessions`."""
        del patience_s
        raise _gone()

    async def goal(
        self, key: str, *, create: str | None = None, status: GoalStatus | None = None
    ) -> GoalView:
        """See `Sessions`."""
        del key, create, status
        raise _gone()

    @property
    def asking(self) -> Asking:
        """See `Sessions`."""
        raise _gone()


def _gone() -> NotFoundError:
    return NotFoundError("Other sessions cannot be asked for here.")


NO_SESSIONS = NoSessions()
