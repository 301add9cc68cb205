"""The part of a random story that is about signals: watches, goals, and the care of the log."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

from netclaw.core.ids import SessionId
from netclaw.core.session.events import NoticeMark
from netclaw.core.session.goal_events import GoalStatus
from netclaw.core.session.goals import GoalChange
from netclaw.core.signals.events import SYSTEM, Actor, ActorType, upstream_missing
from netclaw.ports.journal import JournalStore
from netclaw.ports.signals import SignalLimits
from tests.contracts.journal_world import World
from tests.contracts.test_journal_runs import FIRST

SESSIONS = tuple(SessionId(name) for name in ("cli/a", "cli/b", "slack/C1/1"))
CHILDREN = tuple(SessionId(f"{parent}/sub/{FIRST}") for parent in SESSIONS[:2])
EVERYBODY = SESSIONS + CHILDREN

Call = Callable[[JournalStore], Awaitable[object]]


class SignalStory:
    """Makes random calls about signals."""

    def __init__(self, seed: int, world: World) -> None:
        self.chance = random.Random(seed)
        self.world = world
        self.heads = dict.fromkeys(EVERYBODY, 0)

    def watching(self, session_id: SessionId) -> Call:
        """Watches, goals, and changes that are no journal events."""
        at = self.world.clock.now_ms()
        other = self.chance.choice(EVERYBODY)
        actor = self.chance.choice([SYSTEM, Actor(type=ActorType.AGENT, id=other)])
        goal = GoalChange(
            text=self.chance.choice([None, "", "a", "b"]),
            status=self.chance.choice([None, GoalStatus.PAUSED]),
        )
        missing = upstream_missing(
            session_id,
            catalog="c",
            source_hash="h",
            link_updated_at=self.chance.randrange(9),
            at=at,
        )
        ways: list[Call] = [
            lambda journal: journal.watch_session(other, session_id, at=at),
            lambda journal: journal.watch_session(session_id, other, at=at),
            lambda journal: journal.unwatch_session(session_id, other),
            lambda journal: journal.set_goal(session_id, goal, actor=actor, at=at),
            lambda journal: journal.set_goal(session_id, goal, actor=actor, at=at),
        ]
        if self.heads[session_id]:
            ways.append(lambda journal: journal.record_signal(missing))
        return self.chance.choice(ways)

    def keeping(self, session_id: SessionId) -> Call:
        """What the daemon does at boot and every hour."""
        del session_id
        at = self.world.clock.now_ms() + self.chance.choice([0, 30 * 24 * 3_600_000 - 20_000])
        limits = SignalLimits(row_cap=self.chance.choice([5, 50]))
        if self.chance.random() < 0.5:
            return lambda journal: journal.sweep_cursors(at=at)
        return lambda journal: journal.prune_signals(limits, at=at)

    def notices(self) -> tuple[NoticeMark, ...]:
        """What a turn tells of: often something that is open."""
        if self.chance.random() < 0.4:
            return ()
        return tuple(
            NoticeMark(target=target, mark=self.chance.randrange(1, 60))
            for target in self.chance.sample(EVERYBODY, 3)
        )
