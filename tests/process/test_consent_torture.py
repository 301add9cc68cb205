"""Prompts under random kills in a bounded dose; `scripts/torture consent` gives the large one."""

from __future__ import annotations

import pytest

from tests.conftest import random_seed
from tests.process.consent_torture import consent_torture


@pytest.mark.requirement("judging.torture")
@pytest.mark.timeout(300)
async def test_random_kills_and_edits_break_no_promise_of_consent() -> None:
    toll = await consent_torture(seed=random_seed(), kills=15, sessions=4)

    assert toll.kills.total() >= 15
    assert toll.calls["asked"]
    assert toll.edits
