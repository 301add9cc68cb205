"""Whoever is killed at whichever step of a notice's life: each line comes once.

`scripts/torture signals` gives the large dose.
"""

from __future__ import annotations

import pytest

from tests.process.notice_deaths import STEPS, VICTIMS, notice_survives


@pytest.mark.timeout(120)
@pytest.mark.requirement("notices.kills", "signals.case-15", "signals.case-16")
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("step", list(STEPS))
async def test_each_line_comes_once_whoever_is_killed(step: str, victim: str) -> None:
    await notice_survives(step, victim)
