"""What the supervisor tells the journal of a session's unasked death, and hears back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netclaw.core.ids import TurnId
from netclaw.core.session.events import OutboxRow
from netclaw.core.settings import SupervisionSettings
from netclaw.core.supervision import DeathCause, Verdict

if TYPE_CHECKING:
    from netclaw.ports.journal import EventDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """What fails an open turn that crashed too often (decision 5)."""

    turn_id: TurnId
    events: tuple[EventDraft, ...]
    outbox: tuple[OutboxRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashReport:
    """A death that counts against a session: `cause.is_crash`."""

    cause: DeathCause
    exit_status: int
    """Negative for a signal."""
    at: int
    settings: SupervisionSettings
    give_up: GiveUp | None = None
    """Committed with the crash if it is one too many for that turn and the turn is still open."""
    is_unreadable: bool = False
    """Nothing can start from what is stored: quarantine, however few crashes there were."""
    bad_snapshot: int | None = None
    """seq of a snapshot to drop, so that the next start replays the journal instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashOutcome:
    """What a recorded crash leads to; crashes are counted on disk."""

    verdict: Verdict
    attempt: int
    """Crashes of the open turn with this one, 0 without an open turn."""
