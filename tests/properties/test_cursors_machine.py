"""Any number of sessions that change, watch, forget, start again and look back, in any order.

The log under test is the core's arithmetic over the store in memory. What must hold is checked
against a ledger of its own: for each watcher and target what happened, and what it was told.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from netclaw.core.ids import RunId, SessionId, TurnId
from netclaw.core.session.events import NoticeMark
from netclaw.core.signals import custody, events, notices
from netclaw.core.signals.cursors import can_watch
from netclaw.core.signals.events import SYSTEM, Actor, ActorType, GoalStep, Signal
from netclaw.ports.signals import SignalLimits
from netclaw.testing.memory_signals import MemorySignals

PARENT = SessionId("cli/p")
CHILD = SessionId("cli/p/sub/r")
OTHERS = (SessionId("cli/q"), SessionId("slack:T/C/1"))
TARGETS = (CHILD, *OTHERS)
WATCHERS = (PARENT, *OTHERS)
ADA = Actor(type=ActorType.HUMAN, id="ada")
ACTORS = (ADA, ADA, SYSTEM, *(Actor(type=ActorType.AGENT, id=key) for key in WATCHERS))
DAY_MS = 24 * 3_600_000

ODDS = st.integers(min_value=0, max_value=4)
"""What happens seldom happens at 0 alone."""

Pair = tuple[SessionId, SessionId]


@dataclass
class Account:
    """What one watcher has to be told of one target, and was told."""

    owed: list[int] = field(default_factory=list)
    """Sequences of others' material changes that no turn has told of."""
    line: str = ""
    """The line of the open notice; empty while there is none."""
    mark: int = 0
    """The last change that the open notice stands for: frozen while it is open."""
    lines_since_owed: int = 0
    """Turns with a line since the last change."""


@dataclass
class Turn:
    """A turn that tells of notices and has not come to anything yet."""

    turn_id: TurnId
    told: dict[SessionId, tuple[list[int], str]]
    """What it takes off each account, and the line that it told."""


class CursorsMachine(RuleBasedStateMachine):
    """See the module's words."""

    def __init__(self) -> None:
        super().__init__()
        self.log = MemorySignals()
        self.accounts: dict[Pair, Account] = {}
        self.turns: dict[SessionId, Turn] = {}
        self.journal: dict[SessionId, list[int]] = {target: [] for target in TARGETS}
        """Every sequence that was ever recorded of each target, in its present life."""
        self.gone: dict[SessionId, int] = dict.fromkeys(TARGETS, 0)
        self.now = 0
        self.made = 0

    # What happens

    @initialize()
    def some_are_watched_already(self) -> None:
        self.the_parent_spawns(0)
        for watcher, target in ((OTHERS[0], CHILD), (PARENT, OTHERS[0]), OTHERS):
            self.somebody_watches(watcher, target)

    @rule(session_id=st.sampled_from(TARGETS), actor=st.sampled_from(ACTORS))
    def a_session_changes(self, session_id: SessionId, actor: Actor) -> None:
        step, status = GoalStep.REWORDED, "active"
        signal = events.goal_changed(session_id, actor, step=step, status=status, at=self.now)
        sequence = self.record(signal)
        for watcher in WATCHERS:
            is_parent = watcher == PARENT and session_id == CHILD
            is_watching = is_parent or (watcher, session_id) in self.accounts
            is_own = actor.type is ActorType.AGENT and actor.id == watcher
            if is_watching and not is_own:
                account = self.accounts.setdefault((watcher, session_id), Account())
                account.owed.append(sequence)
                account.lines_since_owed = 0
                if not account.line:
                    account.line = self.line_of(watcher, session_id)
                    account.mark = sequence

    @rule(session_id=st.sampled_from(TARGETS))
    def something_is_only_logged(self, session_id: SessionId) -> None:
        before = dict(self.log.watches)
        self.made += 1
        self.record(events.compacted(session_id, operation=str(self.made), at=self.now))
        assert self.log.watches == before

    @rule(session_id=st.sampled_from(TARGETS))
    def a_repeat_records_nothing(self, session_id: SessionId) -> None:
        signal = events.compacted(session_id, operation="same", at=self.now)
        known = [item for item in self.log.events if item.signal.dedupe_key == signal.dedupe_key]
        before = self.log.newest
        if known:
            assert self.log.record(signal, None, self.now) == known[0]
            assert self.log.newest == before
        else:
            self.record(signal)

    @rule(odds=ODDS)
    def the_parent_spawns(self, odds: int) -> None:
        if odds:
            return
        self.made += 1
        run_id = RunId(f"r{self.made}")
        signal = events.child_spawned(CHILD, parent=PARENT, run_id=run_id, at=self.now)
        self.record(signal)
        self.log.seed(PARENT, self.log.events[-1], self.now)
        self.accounts[(PARENT, CHILD)] = Account()
        self.forget_told(PARENT, CHILD)

    @rule(watcher=st.sampled_from(WATCHERS), session_id=st.sampled_from(TARGETS))
    def somebody_watches(self, watcher: SessionId, session_id: SessionId) -> None:
        if not can_watch(watcher, session_id):
            return
        before = self.log.watches.get((watcher, session_id))
        self.log.watch(watcher, session_id, self.now)
        if before is not None:
            assert self.log.watches[(watcher, session_id)] == before, "a watch did not stay"
        self.accounts.setdefault((watcher, session_id), Account())

    @precondition(lambda self: len(self.turns) < len(WATCHERS))
    @rule(position=st.integers(0, 5), limit=st.sampled_from([1, 50]))
    def a_turn_begins(self, position: int, limit: int) -> None:
        free = [watcher for watcher in WATCHERS if watcher not in self.turns]
        with_news = [watcher for watcher in free if self.log.open_notices(watcher)]
        watcher = (with_news or free)[position % len(with_news or free)]
        self.made += 1
        turn = Turn(turn_id=TurnId(f"t{self.made}"), told={})
        due = notices.due(self.log.open_notices(watcher), limit)
        for notice in due:
            account = self.accounts[(watcher, notice.target)]
            line = notices.line(notice.target, notice.since)
            assert line == account.line, "the line changed while it was open"
            assert notice.mark == account.mark, "the mark moved while it was open"
            told = [sequence for sequence in account.owed if sequence <= notice.mark]
            assert told, "a line without a change"
            assert min(told) > notice.since, "a change was told twice"
            turn.told[notice.target] = (told, account.line)
            account.owed = account.owed[len(told) :]
        marks = tuple(NoticeMark(target=n.target, mark=n.mark, since=n.since) for n in due)
        self.log.tell(watcher, marks, turn.turn_id, self.now)
        for notice in due:
            account = self.accounts[(watcher, notice.target)]
            account.lines_since_owed += 1
            assert account.lines_since_owed <= 2, "more than one line follows"
            account.line = self.line_of(watcher, notice.target)
            assert bool(account.line) == bool(account.owed)
            account.mark = account.owed[-1] if account.owed else 0
        self.turns[watcher] = turn

    @precondition(lambda self: bool(self.turns))
    @rule(position=st.integers(0, 5), is_worth_it=st.sampled_from([True, True, False]))
    def a_turn_ends(self, position: int, is_worth_it: bool) -> None:
        running = sorted(self.turns)
        self.end(running[position % len(running)], is_worth_it=is_worth_it)

    def end(self, watcher: SessionId, *, is_worth_it: bool) -> None:
        """The watcher's turn came to something, or to nothing."""
        turn = self.turns.pop(watcher)
        close = custody.settle if is_worth_it else custody.give_back
        self.log.close(watcher, turn.turn_id, close, self.now)
        if is_worth_it:
            return
        for target, (told, line) in turn.told.items():
            account = self.accounts[(watcher, target)]
            account.mark = account.mark or told[-1]
            account.owed = told + account.owed
            account.line = line
            account.lines_since_owed = 0

    @precondition(lambda self: not self.turns)
    @rule(
        session_id=st.sampled_from(TARGETS),
        before=st.integers(1, 4),
        during=st.integers(0, 3),
        is_worth_it=st.booleans(),
    )
    def a_burst_with_a_turn_in_it(
        self, session_id: SessionId, before: int, during: int, is_worth_it: bool
    ) -> None:
        for _ in range(before):
            self.a_session_changes(session_id, ADA)
        self.a_turn_begins(0, 50)
        for _ in range(during):
            self.a_session_changes(session_id, ADA)
        for watcher in sorted(self.turns):
            self.end(watcher, is_worth_it=is_worth_it)

    @precondition(lambda self: not self.turns)
    @rule()
    def the_daemon_starts_again(self) -> None:
        for change in self.log.sweep(set(WATCHERS), self.now):
            account = self.accounts[(change.watcher, change.target)]
            assert change.notice is not None
            assert notices.line(change.target, change.notice.since) == account.line
            account.mark = account.owed[-1]
            assert change.notice.mark == account.mark, "the sweep left something"

    @rule(watcher=st.sampled_from(WATCHERS), odds=ODDS)
    def a_watcher_is_reset(self, watcher: SessionId, odds: int) -> None:
        if odds:
            return
        self.turns.pop(watcher, None)
        self.log.forget(lambda known, _target: known == watcher)
        self.accounts = {pair: a for pair, a in self.accounts.items() if pair[0] != watcher}

    @rule(session_id=st.sampled_from(TARGETS), odds=ODDS)
    def a_session_is_deleted_and_made_anew(self, session_id: SessionId, odds: int) -> None:
        if odds:
            return
        former = self.log.head(session_id)
        last = max([*self.journal[session_id], self.gone[session_id] - 1, 0])
        self.log.bury(session_id, is_child=False)
        self.log.heads[session_id] = former.of_next_life()
        self.turns.pop(session_id, None)
        self.accounts = {p: a for p, a in self.accounts.items() if session_id not in p}
        for watcher in WATCHERS:
            self.forget_told(watcher, session_id)
        self.journal[session_id] = []
        self.gone[session_id] = last + 1

    @rule(days=st.sampled_from([0, 0, 5, 31]), row_cap=st.integers(1, 30))
    def the_log_is_pruned(self, days: int, row_cap: int) -> None:
        self.now += days * DAY_MS
        heads = {target: self.log.head(target).last for target in TARGETS}
        self.log.prune(SignalLimits(retention_days=30, row_cap=row_cap), self.now)
        assert len(self.log.events) <= row_cap
        assert {target: self.log.head(target).last for target in TARGETS} == heads
        kept = {event.sequence for event in self.log.events}
        for target, known in self.journal.items():
            removed = [sequence for sequence in known if sequence not in kept]
            self.gone[target] = max([self.gone[target], *removed])
        for pair in [pair for pair in self.accounts if pair not in self.log.watches]:
            del self.accounts[pair]
            self.forget_told(*pair)

    # What must hold

    @invariant()
    def no_mark_is_out_of_order(self) -> None:
        for watch in self.log.watches.values():
            cursor = watch.cursor
            assert 0 <= cursor.seen <= cursor.notified <= cursor.material <= self.log.newest

    @invariant()
    def who_has_something_to_be_told_has_one_notice_and_nobody_else(self) -> None:
        for (watcher, target), account in self.accounts.items():
            line = self.line_of(watcher, target)
            assert bool(line) == bool(account.owed), "a change was lost, or told of for nothing"
            assert line == account.line, "a line changed while it was open"

    @invariant()
    def looking_back_is_exact(self) -> None:
        for target, known in self.journal.items():
            versions = {0, self.gone[target] - 1, self.gone[target], *known[-3:]}
            for since in (version for version in versions if version >= 0):
                changes = self.log.changes(target, since, 200)
                found = [event.sequence for event in changes.events]
                later = [sequence for sequence in known if sequence > since]
                is_whole = found == later[:200]
                assert changes.has_history_gap == (since < self.gone[target])
                assert is_whole or changes.has_history_gap, "a gap is not told"

    # Helpers

    def record(self, signal: Signal) -> int:
        parent = PARENT if signal.target == CHILD else None
        sequence = self.log.record(signal, parent, self.now).sequence
        self.journal[signal.target].append(sequence)
        return sequence

    def line_of(self, watcher: SessionId, target: SessionId) -> str:
        """The line of the open notice about the target; empty if there is none."""
        found = [item for item in self.log.open_notices(watcher) if item.target == target]
        assert len(found) <= 1, "two notices of one target"
        return notices.line(target, found[0].since) if found else ""

    def forget_told(self, watcher: SessionId, target: SessionId) -> None:
        """A row that was made anew or removed is no business of a turn that runs."""
        if watcher in self.turns:
            self.turns[watcher].told.pop(target, None)


CursorsMachine.TestCase.settings = settings(max_examples=80, stateful_step_count=40)
TestCursors = pytest.mark.timeout(60)(
    pytest.mark.requirement("signals.invariants")(
        pytest.mark.requirement("signals.order-of-marks")(
            pytest.mark.requirement("signals.exact-gap")(CursorsMachine.TestCase)
        )
    )
)
