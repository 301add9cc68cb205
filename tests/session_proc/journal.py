"""A journal in memory for one session, with the rules of an append: fence, head, interleaving."""

from __future__ import annotations

from dataclasses import dataclass, field

from netclaw.core.authority import (
    Audience,
    Authenticity,
    Authority,
    Principal,
    Provenance,
    Requester,
    SourceKind,
)
from netclaw.core.ids import InputId, SessionId
from netclaw.core.session.events import (
    InputAdmitted,
    Recorded,
    SessionCreated,
    SessionEvent,
    SessionKind,
)
from netclaw.session_proc.ids import new_id
from netclaw.wire.convert import recorded_of
from netclaw.wire.journal_codec import encode_event
from netclaw.wire.v1 import common_pb2 as pb
from netclaw.wire.v1.session_host_pb2 import Append, Snapshot

SESSION = SessionId("cli/abcdefghij")


def local_authority(sender: str = "me", principal: Principal = Principal.OPERATOR) -> Authority:
    """Somebody at this machine."""
    return Authority(
        requester=Requester(
            session_id=SESSION,
            audience=Audience.PERSONAL,
            boundary="local",
            channel_type=SourceKind.CLI,
            sender_id=sender,
            principal=principal,
        ),
        provenance=Provenance(source_kind=SourceKind.CLI, authenticity=Authenticity.LOCAL_PROCESS),
    )


class RefusedError(Exception):
    """The head had moved."""


class StaleError(Exception):
    """The incarnation is an old one."""


@dataclass(slots=True)
class MemoryJournal:
    """Rows of one session, and what an append may do to them."""

    rows: list[pb.JournalRow] = field(default_factory=list)
    incarnation: int = 0
    snapshot: Snapshot | None = None
    snapshot_seq: int = 0
    now_ms: int = 1_800_000_000_000
    first: tuple[SessionEvent, ...] = (
        SessionCreated(
            session_id=SESSION,
            kind=SessionKind.MAIN,
            channel=SourceKind.CLI,
            audience=Audience.PERSONAL,
            life=1,
        ),
    )

    def __post_init__(self) -> None:
        """Every journal begins with its session."""
        self.commit(self.first)

    @property
    def head(self) -> int:
        """seq of the last row."""
        return len(self.rows)

    def commit(self, events: tuple[SessionEvent, ...]) -> list[pb.JournalRow]:
        """Commit supervisor-authored events."""
        drafts = [encode_event(event) for event in events]
        return [self._row(d.type, d.version, d.payload, cause="supervisor") for d in drafts]

    def admit(self, text: str, *, sender: str = "me") -> tuple[InputId, list[pb.JournalRow]]:
        """Commit an input."""
        input_id = InputId(new_id())
        return input_id, self.commit(
            (
                InputAdmitted(
                    input_id=input_id,
                    source_message_id=None,
                    text=text,
                    authority=local_authority(sender),
                    attended=True,
                ),
            )
        )

    def append(self, request: Append) -> list[pb.JournalRow]:
        """Commit a session's append; raises `StaleError` or `RefusedError`."""
        if request.incarnation != self.incarnation:
            raise StaleError
        between = self.rows[request.expected_head :]
        is_exact = any(event.type == "Passivated" for event in request.events)
        if between and (
            is_exact or any(row.type not in ("InputAdmitted", "AnswerAdmitted") for row in between)
        ):
            raise RefusedError
        rows = [
            self._row(
                event.type, event.version, event.payload, cause=request.cause, at=request.at_ms
            )
            for event in request.events
        ]
        if request.HasField("snapshot") and not between:
            self.snapshot, self.snapshot_seq = request.snapshot, self.head
        return rows

    def events(self) -> list[SessionEvent]:
        """All events, decoded."""
        return [item.event for item in self.recorded()]

    def recorded(self) -> list[Recorded]:
        """All rows, decoded."""
        return [recorded_of(row) for row in self.rows]

    def names(self) -> list[str]:
        """The event types in order, without the first."""
        return [row.type for row in self.rows[1:]]

    def _row(
        self, kind: str, version: int, payload: bytes, *, cause: str, at: int = 0
    ) -> pb.JournalRow:
        self.now_ms += 1
        row = pb.JournalRow(
            seq=self.head + 1,
            at_ms=at or self.now_ms,
            type=kind,
            version=version,
            incarnation=self.incarnation,
            payload=payload,
            cause=cause,
        )
        self.rows.append(row)
        return row
