"""The loop guard against any history: a second, naive account of the rule, and its bounds."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.session.loop_guard import GuardEnding
from netclaw.core.tool_call import OutcomeCategory
from tests.core.session.rounds import Asked, Rounds, call

OUTCOMES = st.sampled_from(
    [
        (OutcomeCategory.SUCCESS, "x"),
        (OutcomeCategory.SUCCESS, "y"),
        (OutcomeCategory.FAILURE, "x"),
        (OutcomeCategory.ACCESS_DENIED, "no"),
    ]
)
BATCHES = st.lists(
    st.builds(
        lambda name, outcome: Asked(name, text=outcome[1], category=outcome[0]),
        st.sampled_from("abc"),
        OUTCOMES,
    ),
    min_size=1,
    max_size=3,
)

Outcome = frozenset[tuple[OutcomeCategory, str]]


class Naive:
    """Keeps the whole history and reads it anew for each question."""

    def __init__(self) -> None:
        self.rounds: list[tuple[dict[str, Outcome], frozenset[str]]] = []
        """Of each round: what ran with which outcomes, and what was refused."""

    def is_suspect(self, name: str, upto: int) -> bool:
        seen = [ran[name] for ran, _ in self.rounds[:upto] if name in ran]
        return any(one == other for one, other in pairwise(seen))

    def cycles(self, upto: int) -> list[set[frozenset[str]]]:
        """The batches of each cycle found so far; a found one starts the search afresh."""
        found: list[set[frozenset[str]]] = []
        whole: list[dict[str, Outcome]] = []
        for ran, refused in self.rounds[:upto]:
            if refused:
                continue
            whole.append(ran)
            for period in (1, 2, 3):
                tail = whole[-2 * period :]
                if len(tail) == 2 * period and tail[:period] == tail[period:]:
                    found.append({frozenset(batch) for batch in tail})
                    whole = []
                    break
        return found

    def refusals(self, names: frozenset[str]) -> dict[str, int]:
        """Which refusal in a row each call of this batch would be; 0 for one that runs."""
        now = len(self.rounds)
        cycle = max((self._of_cycle(c) for c in self.cycles(now) if names in c), default=0)
        return {name: max(self._of_name(name), cycle) for name in names}

    def _of_name(self, name: str) -> int:
        if not self.is_suspect(name, len(self.rounds)):
            return 0
        earlier = (
            name in refused and self.is_suspect(name, at)
            for at, (_, refused) in enumerate(self.rounds)
        )
        return 1 + sum(earlier)

    def _of_cycle(self, keys: set[frozenset[str]]) -> int:
        earlier = (
            bool(refused) and frozenset(ran) | refused in keys and keys in self.cycles(at)
            for at, (ran, refused) in enumerate(self.rounds)
        )
        return 1 + sum(earlier)

    def score(self) -> int:
        total = 0
        for ran, _ in self.rounds:
            categories = [{category for category, _ in outcome} for outcome in ran.values()]
            if any(OutcomeCategory.SUCCESS in item for item in categories):
                total = 0
                continue
            total += sum(2 if OutcomeCategory.ACCESS_DENIED in item else 1 for item in categories)
        return total

    def add(self, asked: list[Asked], refused: frozenset[str]) -> None:
        ran: dict[str, Outcome] = {}
        for item in asked:
            if item.name not in refused:
                outcome = frozenset({(item.category, item.text)})
                ran[item.name] = ran.get(item.name, frozenset()) | outcome
        self.rounds.append((ran, refused))


@pytest.mark.requirement("guard.two-equal-rounds")
@pytest.mark.requirement("guard.cycles")
@given(st.lists(BATCHES, max_size=25))
def test_the_guard_says_what_a_reading_of_the_whole_history_says(
    history: list[list[Asked]],
) -> None:
    turn, naive = Rounds(), Naive()
    for asked in history:
        names = frozenset(item.name for item in asked)
        numbers = naive.refusals(names)
        expected = frozenset(name for name, number in numbers.items() if number)
        before = naive.score()
        turn.play(*asked)
        if before >= 8:
            assert turn.ending is GuardEnding.FAILURES
            return
        if max(numbers.values()) >= 6:
            assert turn.ending is GuardEnding.REPEATS
            return
        assert turn.ending is None
        assert frozenset(turn.refused) == expected
        naive.add(asked, expected)
        after = naive.score()
        assert turn.score == after
        assert bool(turn.note) == any(before < limit <= after for limit in (4, 6, 8))


@pytest.mark.requirement("guard.ladder")
@given(st.lists(st.sampled_from("abcdef"), min_size=43, max_size=43))
def test_a_model_with_six_calls_in_a_world_that_never_changes_ends(asked: list[str]) -> None:
    """Each call runs twice and is refused five times; whatever comes next ends the turn."""
    turn = Rounds()
    for name in asked:
        if turn.play(call(name)).ending:
            break
    assert turn.ending is GuardEnding.REPEATS
