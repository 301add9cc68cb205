"""Looks after an admitted message while its session is silent: what the ledger knows of it.

A subscriber is told the end of its turn, unless what should tell it died first. So whoever waits
also asks, every 10 seconds, and hears an end that no output announced.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from netclaw.core.errors import (
    DaemonDownError,
    DrainingError,
    InternalError,
    InterruptedByStopError,
    NetclawError,
    NotFoundError,
    OperationTimeoutError,
    QuarantinedError,
    UnauthenticatedError,
)
from netclaw.core.ids import SessionId, is_child_key, run_of_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from netclaw.cli.chat.feed import SessionFeed
    from netclaw.cli.chat.turns import TurnFollower
    from netclaw.wire.v1.gateway_pb2 import (
        LedgerEntry,
        SendUserMessageResponse,
        SessionDetail,
        SessionRow,
    )

LOOK_EVERY_S = 10.0
LOOK_SOON_S = 1.0
"""After something that should have been followed by the end of the turn."""
TELL_EVERY_S = 60.0
LEFT_LOOKS = 2
"""Looks in a row that find a process gone in good order, before the message is left to a later
one: after the first look the next process may just not have begun."""
IDLE_LOOKS = 30
"""The same when none has recorded its end: a session that waits for a place among the live ones
looks like that, too."""
LEDGER_ROWS = 1000
OPEN = ("waiting", "running")
RUNS_AT_WORK = ("Accepted", "Running", "Cancelling")
"""States of child runs that have a process, or are about to."""
_SILENT = (DaemonDownError, DrainingError, UnauthenticatedError, OperationTimeoutError)


class Lookout:
    """Watches over one message of one session; ends the wait for an answer that cannot come."""

    def __init__(
        self,
        feed: SessionFeed,
        follower: TurnFollower,
        admitted: SendUserMessageResponse,
        session_id: str,
        tell: Callable[[str], None],
    ) -> None:
        self._feed = feed
        self._follower = follower
        self._admitted = admitted
        self._session_id = session_id
        self._tell = tell
        self._look_at = time.monotonic() + LOOK_EVERY_S
        self._said = ""
        self._said_at = 0.0
        self._has_replayed = False
        self._is_seen = False
        self._looks_idle = 0
        self._looked_into = 0
        self._looked_for: frozenset[str] = frozenset()
        """Child runs that were found over, and whose results were asked for once more."""

    def is_due_after(self, silence_s: float) -> bool:
        """Whether to look after so many seconds without an output.

        At the time set for it in any case, however much the session says of other things.
        """
        return time.monotonic() >= self._look_at or silence_s >= self._soon_s()

    def patience_s(self) -> float:
        """Seconds of silence after which to look."""
        return max(0.0, min(self._look_at - time.monotonic(), self._soon_s()))

    def _soon_s(self) -> float:
        is_suspicious = self._follower.suspicions > self._looked_into
        return LOOK_SOON_S if is_suspicious else LOOK_EVERY_S

    def look(self, unseen_s: float = math.inf) -> None:
        """Ask what is known and say it, unless something was shown `unseen_s` seconds ago.

        Ends the follower's wait when the turn it saw fail is this message's. Raises what else
        prevents an answer: the session or its message is gone, held back or at rest.
        """
        self._look_at = time.monotonic() + LOOK_EVERY_S
        self._looked_into = self._follower.suspicions
        self._is_seen = unseen_s < LOOK_EVERY_S / 2
        try:
            entry, detail = self._ask()
        except NotFoundError:
            raise gone(self._session_id) from None
        except _SILENT as error:
            self._say(f"[waiting] {error.sentence}")
            return
        if entry is None:
            raise gone(self._session_id)
        if self._follower.awaited:
            self._on_runs(detail)
        elif entry.outcome not in OPEN:
            self._on_ended(entry)
        elif not self._follower.fail(entry.turn_id):
            self._on_open(entry, detail)

    def is_running(self) -> bool:
        """Whether the message's own turn runs now; False if nobody can be asked."""
        try:
            entry, _ = self._ask()
        except NetclawError:
            return False
        return entry is not None and entry.outcome == "running"

    def _ask(self) -> tuple[LedgerEntry | None, SessionDetail]:
        from netclaw.wire.v1.gateway_pb2 import GetLedgerRequest, GetSessionRequest

        client = self._feed.client
        ledger = client.call(
            client.gateway.GetLedger,
            GetLedgerRequest(session_id=self._session_id, limit=LEDGER_ROWS),
        )
        found = client.call(
            client.gateway.GetSession, GetSessionRequest(session_id=self._session_id)
        )
        mine = self._admitted.input_id
        entry = next((each for each in ledger.entries if each.input_id == mine), None)
        return entry, found

    def _on_runs(self, detail: SessionDetail) -> None:
        """The turn is over and its child runs are not: their results come in later turns."""
        if detail.row.quarantined:
            raise held_back(
                "The session crashed repeatedly and is quarantined before its sub-agents reported.",
                self._session_id,
            )
        awaited = self._follower.awaited
        at_work = awaited & frozenset(detail.open_child_runs)
        if at_work:
            names = ", ".join(sorted(at_work))
            self._say(f"[waiting] for sub-agents: {names}; the session is {detail.row.phase}")
            return
        if self._looked_for == awaited:
            raise InterruptedByStopError(
                "The sub-agents of this turn are gone, and no turn told of their results.",
                fix=f"Read what is there with `netclaw sessions history {self._session_id}`.",
            )
        self._looked_for = awaited
        self._look_at = time.monotonic() + LOOK_SOON_S
        self._feed.restart_from(max(self._admitted.seq - 1, 0))

    def _on_ended(self, entry: LedgerEntry) -> None:
        """The end is recorded: read it from the record; if it is not there, say what is known."""
        if not self._has_replayed:
            self._has_replayed = True
            self._look_at = time.monotonic() + LOOK_SOON_S
            self._feed.restart_from(max(self._admitted.seq - 1, 0))
            return
        if entry.outcome == "closed":
            raise InterruptedByStopError(
                "The message was closed without an answer: its session was reset or deleted."
            )
        raise InternalError(
            f"The turn {entry.turn_id} of the message ended ({entry.outcome}), but its outputs did"
            " not arrive here.",
            fix=f"Read the answer with `netclaw sessions history {self._session_id}`.",
        )

    def _on_open(self, entry: LedgerEntry, detail: SessionDetail) -> None:
        row = detail.row
        if row.quarantined:
            raise held_back(
                "The session crashed repeatedly and is quarantined; the message is kept.",
                self._session_id,
            )
        is_idle = not row.pid and row.phase == "passive"
        if is_idle:
            self._on_run_at_rest()
        self._looks_idle = self._looks_idle + 1 if is_idle else 0
        if is_idle and self._looks_idle >= (LEFT_LOOKS if self._has_left(row) else IDLE_LOOKS):
            if detail.open_approvals:
                raise left_undecided()
            raise left_alone(
                "The session's process ended before the message was answered, and none follows;"
                " the message is kept.",
                self._session_id,
            )
        if self._is_seen and row.pid:
            return  # who reads the answer as it comes knows that it comes
        process = f"process {row.pid}" if row.pid else "no process yet"
        hint = "; a call waits for a decision: netclaw approvals pending"
        self._say(
            f"[waiting] the message is {entry.outcome}; the session is {row.phase}, {process}"
            f"{hint if detail.open_approvals else ''}"
        )

    def _on_run_at_rest(self) -> None:
        """A child run without a process may be about to get one, or parked, or over."""
        run_id = run_of_key(SessionId(self._session_id))
        if run_id is None:
            return
        from netclaw.wire.v1.admin_pb2 import ListRunsRequest

        client = self._feed.client
        found = client.call(client.admin.ListRuns, ListRunsRequest(run_id=run_id)).runs
        state = found[0].state if found else "gone"
        if state not in RUNS_AT_WORK:
            raise left_by_run(state, run_id)

    def _has_left(self, row: SessionRow) -> bool:
        """Whether the newest record is that of a process that ended in good order."""
        from netclaw.wire.v1.admin_pb2 import ReadJournalRequest

        client = self._feed.client
        request = ReadJournalRequest(session_id=row.id, since_seq=max(row.head_seq - 1, 0))
        try:
            rows = [*client.stream(client.admin.ReadJournal, request)]
        except NetclawError:
            return False
        return bool(rows) and rows[-1].type == "Passivated"

    def _say(self, line: str) -> None:
        """Say what is new at once, and now and then that nothing is."""
        now = time.monotonic()
        if line != self._said or now - self._said_at >= TELL_EVERY_S:
            self._said, self._said_at = line, now
            self._tell(line)


def held_back(sentence: str, session_id: str) -> QuarantinedError:
    """A quarantined session keeps the message and does not run it: nothing to wait for."""
    return QuarantinedError(
        sentence, fix=f"Run `netclaw sessions restart {session_id}`; the message waits."
    )


def left_alone(sentence: str, session_id: str) -> InterruptedByStopError:
    """A session at rest keeps the message; nothing runs it until somebody acts."""
    return InterruptedByStopError(
        sentence, fix=f"`netclaw sessions restart {session_id}` starts one that answers it."
    )


def left_undecided() -> InterruptedByStopError:
    """A session at rest keeps the message behind a turn that waits for a person."""
    return InterruptedByStopError(
        "A call of an earlier turn waits for a decision; the message is kept and waits behind it.",
        fix="See `netclaw approvals pending`; once it is decided, the message is answered.",
    )


def left_by_run(state: str, run_id: str) -> InterruptedByStopError:
    """A run that has no process keeps the message, and reads it only if it goes on."""
    return InterruptedByStopError(
        f"The run is {state} and has no process; it reads the message if it goes on.",
        fix=f"`netclaw runs show {run_id}` says how it stands, `netclaw approvals pending` what"
        " waits for consent.",
    )


def gone(session_id: str) -> InterruptedByStopError:
    """The end of a message whose session is no more."""
    if is_child_key(SessionId(session_id)):
        parent = session_id.rpartition("/sub/")[0]
        return InterruptedByStopError(
            "The run was over before it answered the message.",
            fix=f"Write to the session that asked for it: `netclaw chat --resume {parent}`.",
        )
    return InterruptedByStopError("The session was deleted before it answered the message.")
