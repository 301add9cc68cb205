"""Whoever is killed at whichever step of a notice's life: each line comes once.

`scripts/torture signals` gives the large dose.
"""

from __future__ import annotations

import pytest

from tests.process.lending import Lender
from tests.process.notice_calls import config
from tests.process.notice_deaths import STEPS, VICTIMS, notice_survives
from tests.process.notice_torture import KILLS_PER_WORLD, torture_fleet

WINDOW_S = 0.5
"""Between the wakes of one watcher."""


@pytest.mark.timeout(120)
@pytest.mark.requirement("notices.kills", "signals.case-15", "signals.case-16")
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("step", list(STEPS))
async def test_each_line_comes_once_whoever_is_killed(
    lender: Lender, step: str, victim: str
) -> None:
    async with lender.lend(config(WINDOW_S)) as world:
        await notice_survives(world, step, victim)


@pytest.mark.timeout(180)
@pytest.mark.requirement("notices.kills", "wakes.once")
async def test_a_fleet_under_random_kills_is_told_of_everything_once() -> None:
    toll = await torture_fleet(name="one")

    assert toll.kills.total() == KILLS_PER_WORLD
    assert toll.lines
    assert toll.wakes
