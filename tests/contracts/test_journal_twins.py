"""The twin and the real store, told the same random story, answer the same at every step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.authority import DeliveryTarget, SourceKind
from netclaw.core.errors import HeadMovedError, NetclawError
from netclaw.core.ids import AppendId, CallId, InputId, SessionId, TurnId, chat_key
from netclaw.core.session.child_events import ChildEnded, ChildResultDelivered, ChildState
from netclaw.core.session.consent_events import (
    AnswerDismissed,
    ConsentAnswered,
    ConsentWithdrawn,
    Dismissal,
    Withdrawal,
)
from netclaw.core.session.events import (
    AnswerAdmitted,
    Compacted,
    InputJoined,
    OutboxRow,
    OutputStarted,
    Passivated,
    SessionEvent,
    TitleSet,
    ToolBatchStarted,
)
from netclaw.core.session.job_events import JobReaped, JobReported
from netclaw.core.settings import SupervisionSettings
from netclaw.core.supervision import DeathCause
from netclaw.ports.child_records import ChildRecord, ChildStart
from netclaw.ports.crashes import CrashReport, GiveUp
from netclaw.ports.journal import (
    AdmitRequest,
    AppendRequest,
    JournalStore,
    SnapshotDraft,
)
from netclaw.testing.people import ALICE
from netclaw.wire.journal_codec import encode_event
from tests.contracts.journal_world import (
    MemoryWorld,
    SqliteWorld,
    World,
    failed,
    recorded,
    started,
)
from tests.contracts.signal_steps import round_of
from tests.contracts.signal_story import CHILDREN, EVERYBODY, Call, SignalStory
from tests.contracts.test_journal_children import FROZEN
from tests.contracts.test_journal_parked import TURN, asking, calling
from tests.contracts.test_journal_runs import (
    FIRST,
    JOB,
    JOB_ENDED,
    JOB_STARTED,
    SECOND,
    accepted,
    asked,
)

STEPS = 250
TARGETS = tuple(DeliveryTarget(channel=SourceKind.SLACK, address=name) for name in ("1", "2"))


class Story(SignalStory):
    """Makes random calls; it follows the store's answers only to choose likely values."""

    def __init__(self, seed: int, world: World) -> None:
        super().__init__(seed, world)
        self.inputs: list[InputId] = []
        self.incarnations = dict.fromkeys(EVERYBODY, 0)
        self.past: list[AppendRequest] = []

    def calls(self) -> Sequence[Call]:
        """A few calls to make at once."""
        return [self.call() for _ in range(self.chance.choice([1, 1, 1, 2, 4]))]

    def call(self) -> Call:
        """One call."""
        session_id = self.chance.choice(EVERYBODY)
        weighted: list[tuple[int, Callable[[SessionId], Call]]] = [
            (3, self.create),
            (8, self.admit),
            (2, self.admit_many),
            (4, self.begin),
            (12, self.append),
            (2, self.repeat),
            (3, self.append_own),
            (4, self.supervise),
            (1, self.end_life),
            (4, self.outbox),
            (8, self.watching),
            (2, self.keeping),
        ]
        makers = [maker for weight, maker in weighted for _ in range(weight)]
        return self.chance.choice(makers)(session_id)

    def create(self, session_id: SessionId) -> Call:
        if session_id in CHILDREN:
            return self.start_child(session_id)
        new = self.world.new_session(session_id)
        return lambda journal: journal.create_session(new)

    def start_child(self, child: SessionId) -> Call:
        parent = chat_key(child)
        request = ChildStart(
            parent=parent,
            run_id=FIRST,
            start=self.chance.randrange(1, 4),
            storage_root="/e",
            at=self.world.clock.now_ms(),
            frozen=replace(FROZEN, parent=parent),
        )
        return lambda journal: journal.start_child(request)

    def request(self, session_id: SessionId) -> AdmitRequest:
        message = self.chance.choice([None, f"m{self.chance.randrange(30)}"])
        text = "é" * self.chance.choice([1, 20, 150])
        request = self.world.input_request(text, message=message, session_id=session_id)
        self.inputs.append(request.input_id)
        return request

    def admit(self, session_id: SessionId) -> Call:
        request = self.request(session_id)
        return lambda journal: journal.admit(request)

    def admit_many(self, session_id: SessionId) -> Call:
        requests = [self.request(session_id), self.request(self.chance.choice(EVERYBODY))]
        return lambda journal: journal.admit_many(requests)

    def begin(self, session_id: SessionId) -> Call:
        at = self.world.clock.now_ms()
        if self.chance.random() < 0.4:
            return lambda journal: journal.finish_start(session_id)
        return lambda journal: journal.begin_incarnation(session_id, at=at)

    def event(self, session_id: SessionId) -> SessionEvent:
        turn = f"t{self.chance.randrange(4)}"
        some = tuple(self.chance.sample(self.inputs, min(2, len(self.inputs))))
        call = CallId(f"c{self.chance.randrange(2)}")
        events: list[SessionEvent] = [
            replace(started(turn, *some), notices=self.notices()),
            round_of(turn),
            replace(accepted(FIRST), session_id=SessionId(f"{session_id}/sub/{FIRST}")),
            ChildEnded(
                run_id=FIRST,
                state=self.chance.choice([ChildState.COMPLETED, ChildState.FAILED]),
                reason=self.chance.choice(["", "timeout"]),
            ),
            InputJoined(turn_id=TurnId(turn), input_ids=some),
            recorded(turn, *some),
            failed(turn, *some),
            TitleSet(title=turn, actor="model"),
            OutputStarted(turn_id=TurnId(turn), round=0),
            ToolBatchStarted(turn_id=TurnId(turn), call_ids=(call,)),
            Passivated(snapshot_seq=1),
            AnswerAdmitted(call_id=call, option="once", answerer="x"),
            ConsentAnswered(turn_id=TurnId(turn), call_id=call, option="once", answerer="x"),
            ConsentWithdrawn(turn_id=TurnId(turn), call_id=call, reason=Withdrawal.TURN_STOPPED),
            AnswerDismissed(
                call_id=call,
                option=self.chance.choice(["once", "refuse"]),
                answerer="x",
                reason=Dismissal.NOT_OPEN,
            ),
            Compacted(kept_from_seq=1, notes="", tokens_before=1, tokens_after=1, trigger="t"),
            accepted(SECOND),
            ChildResultDelivered(run_id=FIRST, turn_id=TurnId(turn)),
            JOB_STARTED,
            JOB_ENDED,
            JobReaped(job_id=JOB),
            JobReported(job_id=JOB, turn_id=TurnId(turn)),
        ]
        return self.chance.choice(events)

    def events(self, session_id: SessionId) -> Sequence[SessionEvent]:
        """What one append holds: anything, or the start of a turn that waits on consent."""
        if self.chance.random() < 0.15:
            call = CallId(f"c{self.chance.randrange(2)}")
            return (started(TURN), calling(call), asking(call, ALICE))
        if self.chance.random() < 0.1:
            return (accepted(SECOND), *asked(SECOND))
        return [self.event(session_id) for _ in range(self.chance.choice([1, 1, 2, 3]))]

    def append(self, session_id: SessionId) -> Call:
        turn = TurnId(f"t{self.chance.randrange(4)}")
        replies = tuple(
            OutboxRow(
                target=self.chance.choice(TARGETS),
                text=str(number),
                turn_id=turn,
                input_ids=tuple(self.inputs[-2:]),
            )
            for number in range(self.chance.choice([0, 0, 1, 2]))
        )
        snapshot = SnapshotDraft(
            codec="json/1",
            payload=self.world.ids().encode(),
            is_mandatory=self.chance.random() < 0.5,
        )
        request = AppendRequest(
            session_id=session_id,
            append_id=AppendId(self.world.ids()),
            incarnation=self.incarnations[session_id] - (self.chance.random() < 0.1),
            expected_head=self.heads[session_id] - self.chance.choice([0, 0, 0, 0, 1, -1]),
            events=tuple(encode_event(event) for event in self.events(session_id)),
            at=self.world.clock.now_ms(),
            cause="story",
            outbox=replies,
            snapshot=self.chance.choice([None, None, snapshot]),
        )
        self.past.append(request)
        return lambda journal: journal.append(request)

    def repeat(self, session_id: SessionId) -> Call:
        if not self.past:
            return self.append(session_id)
        request = self.chance.choice(self.past[-3:])
        return lambda journal: journal.append(request)

    def append_own(self, session_id: SessionId) -> Call:
        event = self.event(session_id)
        if isinstance(event, Passivated | Compacted):
            event = TitleSet(title="own", actor="supervisor")
        drafts = (encode_event(event),)
        is_fencing = self.chance.random() < 0.3
        at = self.world.clock.now_ms()
        return lambda journal: journal.append_own(
            session_id, drafts, at=at, raise_incarnation=is_fencing
        )

    def supervise(self, session_id: SessionId) -> Call:
        at = self.world.clock.now_ms()
        give_up = GiveUp(
            turn_id=TurnId(f"t{self.chance.randrange(4)}"), events=(encode_event(failed("t")),)
        )
        report = CrashReport(
            cause=DeathCause.CRASH,
            exit_status=1,
            at=at,
            settings=SupervisionSettings(
                turn_crash_limit=2, quarantine_crashes=6, quarantine_window_s=20
            ),
            give_up=self.chance.choice([None, give_up]),
            is_unreadable=self.chance.random() < 0.05,
            bad_snapshot=self.chance.choice([None, self.chance.randrange(1, 30)]),
        )
        is_quarantined = self.chance.random() < 0.5
        ways: list[Call] = [
            lambda journal: journal.record_crash(session_id, report),
            lambda journal: journal.set_quarantined(session_id, is_quarantined=is_quarantined),
            lambda journal: journal.held_starts(),
            lambda journal: journal.probe_write(),
        ]
        return self.chance.choice(ways)

    def end_life(self, session_id: SessionId) -> Call:
        at = self.world.clock.now_ms()
        if self.chance.random() < 0.3:
            return lambda journal: journal.delete_session(session_id)
        return lambda journal: journal.reset_session(session_id, at=at)

    def outbox(self, session_id: SessionId) -> Call:
        del session_id
        claimant = self.chance.choice(["g1", "g1", "g2"])
        at = self.world.clock.now_ms()
        if self.chance.random() < 0.5:
            return lambda journal: journal.claim_outbox("slack", limit=2, claimant=claimant, at=at)
        row_id = self.chance.randrange(1, 20)
        failure = self.chance.choice(["", "no"])
        again_at = self.chance.choice([0, at + 1000])
        return lambda journal: journal.confirm_outbox(
            row_id,
            claimant=claimant,
            external_id="x",
            failure=failure,
            next_attempt_at=again_at,
        )

    async def look(self) -> None:
        """See where the sessions stand."""
        for session_id in EVERYBODY:
            record = await self.world.journal.get_session(session_id)
            self.incarnations[session_id] = record.incarnation if record else 0
            self.heads[session_id] = record.head if record else 0


async def answers(journal: JournalStore, calls: Sequence[Call]) -> list[object]:
    """What calls made at once answer, errors by their code."""
    found = await asyncio.gather(*[call(journal) for call in calls], return_exceptions=True)
    return [comparable(answer) for answer in found]


def comparable(answer: object) -> object:
    """An answer without what may differ: the words of an error."""
    if isinstance(answer, ChildRecord):
        return replace(answer, position=0)
    if isinstance(answer, HeadMovedError):
        return answer.code, answer.head
    if isinstance(answer, NetclawError):
        return answer.code
    if isinstance(answer, BaseException):
        raise answer
    if isinstance(answer, tuple):
        return tuple(comparable(part) for part in answer)
    return answer


async def everything(world: World) -> list[object]:
    """All that can be read."""
    journal = world.journal
    found: list[object] = [
        await journal.list_sessions(limit=100),
        set(await journal.runnable_sessions()),
        replace(await journal.counts(), database_bytes=0),
        world.published,
        world.signalled,
        await journal.cursors(),
        await journal.all_changes_since(0, limit=1000),
    ]
    for session_id in EVERYBODY:
        found += [
            await journal.read_journal(session_id, since=0, limit=10_000),
            await journal.read_state(session_id),
            await journal.ledger(session_id, limit=10_000),
            await journal.has_runnable_work(session_id),
            await journal.cursors(session_id),
            await journal.changes_since(session_id, len(world.published) % 40, limit=5),
            [
                replace(job, position=0)
                for job in await journal.list_jobs(limit=100, session_id=session_id)
            ],
        ]
    return found


@pytest.mark.timeout(60)
@pytest.mark.requirement("store.twins-agree")
async def test_the_twin_and_the_store_tell_one_story(tmp_path: Path, seed: int) -> None:
    real, twin = SqliteWorld(tmp_path / "netclaw.db"), MemoryWorld()
    twin.clock = real.clock
    await real.open()
    await twin.open()
    story = Story(seed, real)
    for step in range(STEPS):
        real.clock.advance(story.chance.choice([0.0, 0.5, 7.0]))
        await story.look()
        calls = story.calls()
        assert await answers(twin.journal, calls) == await answers(real.journal, calls), step
        if step % 25 == 24:
            assert await everything(twin) == await everything(real), step
            end = story.chance.choice(["stop", "die", ""])
            if end:
                await asyncio.gather(getattr(real, end)(), getattr(twin, end)())
    assert await real.journal.check_integrity(is_full=True) is None
    await real.close()
