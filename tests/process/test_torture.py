"""Random kills in a bounded dose; `scripts/torture` gives the large one."""

from __future__ import annotations

import pytest

from tests.conftest import FIXED_SEEDS, random_seed
from tests.process.torture import torture

KILLS = 25
"""Of each seed: one that every run tries, and one that changes."""


@pytest.mark.requirement("recovery.random-kills")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("one_seed", [FIXED_SEEDS[-1], random_seed()], ids=["fixed", "random"])
async def test_random_kills_break_no_promise(one_seed: int) -> None:
    toll = await torture(seed=one_seed, kills=KILLS, sessions=8)

    assert toll.total >= KILLS
    assert toll.kills["session"]
    assert toll.inputs
