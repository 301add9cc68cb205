"""What an adapter is told: that there is something to do, in as few words as hold it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from netclaw.core.authority import SourceKind
from netclaw.core.errors import SessionUnreadableError
from netclaw.core.session.consent_events import (
    AnswerDismissed,
    ConsentAnswered,
    ConsentRequested,
    ConsentWithdrawn,
)
from netclaw.core.session.events import (
    TitleSet,
    TurnFailed,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.phase import Phase
from netclaw.ports.journal import Commit, JournalRow
from netclaw.wire.journal_codec import decode_event
from netclaw.wire.v1.gateway_pb2 import ChannelNews

_OF_CONSENTS = frozenset(
    kind.__name__ for kind in (AnswerDismissed, ConsentAnswered, ConsentRequested, ConsentWithdrawn)
)
_PHASE_AFTER = {
    TurnStarted.__name__: Phase.PROCESSING.value,
    TurnRecorded.__name__: Phase.READY.value,
    TurnFailed.__name__: Phase.READY.value,
}


class News:
    """One adapter's news on their way; pieces of one kind that nobody fetched yet are one."""

    def __init__(self, source: SourceKind | None = None) -> None:
        """`source` is the adapter's channel, as delivery targets name it."""
        self._source = source
        # An adapter that has just come looks once at everything.
        self._kinds = {"outbox", "approvals"}
        self._phases: dict[str, ChannelNews] = {}
        self._titled: dict[str, None] = {}
        self._drain: ChannelNews | None = None
        self._log_level = ""
        self._questions: list[ChannelNews] = []
        self._is_closed = False
        self._is_new = asyncio.Event()
        self._is_new.set()

    def take_replies(self) -> None:
        """Some session has replies for the channel."""
        self._kinds.add("outbox")
        self._is_new.set()

    def take(self, commit: Commit) -> None:
        """A session of the channel went on."""
        types = {row.type for row in commit.rows}
        if types & _OF_CONSENTS:
            self._kinds.add("approvals")
        if TitleSet.__name__ in types:
            self._titled[commit.session_id] = None
        for row in commit.rows:
            phase = _PHASE_AFTER.get(row.type)
            if phase is not None:
                self._phases[commit.session_id] = self._phase(commit.session_id, phase, row)
        if self._phases or self._kinds or self._titled:
            self._is_new.set()

    def drain(self, *, budget_s: float, notice: str) -> None:
        """The adapter is to end."""
        self._drain = ChannelNews(kind="drain", budget_ms=round(budget_s * 1000), notice=notice)
        self._is_new.set()

    def take_log_level(self, level: str) -> None:
        """The adapter is to log so much."""
        self._log_level = level
        self._is_new.set()

    def ask(self, question: ChannelNews) -> None:
        """The adapter is asked something."""
        self._questions.append(question)
        self._is_new.set()

    def close(self) -> None:
        """Nobody listens any more."""
        self._is_closed = True
        self._is_new.set()

    async def __aiter__(self) -> AsyncIterator[ChannelNews]:
        while True:
            await self._is_new.wait()
            self._is_new.clear()
            is_last = self._is_closed
            for piece in self._fetch():
                yield piece
            if is_last:
                return

    def _phase(self, session_id: str, phase: str, row: JournalRow) -> ChannelNews:
        piece = ChannelNews(kind="phase", session_id=session_id, phase=phase)
        started = _started(row)
        if started is not None:
            piece.turn_id = started.turn_id
            piece.addresses.extend(
                target.address
                for target in started.authority.delivery_targets
                if target.channel == self._source
            )
        return piece

    def _fetch(self) -> list[ChannelNews]:
        found = [ChannelNews(kind=kind) for kind in sorted(self._kinds)]
        found += self._phases.values()
        found += [ChannelNews(kind="title", session_id=session) for session in self._titled]
        found += self._questions
        self._questions = []
        if self._log_level:
            found.append(ChannelNews(kind="log_level", log_level=self._log_level))
        if self._drain is not None:
            found.append(self._drain)
        self._kinds = set()
        self._phases, self._titled = {}, {}
        self._drain = None
        self._log_level = ""
        return found


def _started(row: JournalRow) -> TurnStarted | None:
    if row.type != TurnStarted.__name__:
        return None
    try:
        event = decode_event(row.type, row.version, row.payload)
    except SessionUnreadableError:
        return None
    return event if isinstance(event, TurnStarted) else None
