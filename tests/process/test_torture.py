"""Random kills in a bounded dose; `scripts/torture` gives the large one."""

from __future__ import annotations

import pytest

from tests.process.torture import torture


@pytest.mark.requirement("recovery.random-kills")
@pytest.mark.timeout(240)
async def test_random_kills_break_no_promise(seed: int) -> None:
    toll = await torture(seed=seed, kills=35, sessions=8)

    assert toll.total >= 35
    assert toll.kills["session"]
    assert toll.inputs
