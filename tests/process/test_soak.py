"""A soak in a bounded dose; `scripts/torture soak` gives the large one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import random_seed
from tests.soak.soak import Soak

LENGTH_S = 45
"""With start, rest and judgement the whole takes about 15 seconds more."""


@pytest.mark.requirement("soak.promises")
@pytest.mark.timeout(240)
async def test_ten_sessions_under_random_histories_break_no_promise(tmp_path: Path) -> None:
    soak = Soak(seed=random_seed(), sessions=10)
    report = await soak.run(minutes=LENGTH_S / 60, keep=tmp_path / "home")

    # How much happened depends on the machine; that something did, must be sure.
    assert report.inputs
    assert report.phases_seen
    assert report.trouble.total()
    assert report.verdict.outcomes.total()
