"""Whoever is killed, whenever: each run is told of once, no call runs twice, nothing is left.

`scripts/torture runs` gives the large dose.
"""

from __future__ import annotations

import pytest

from tests.process.run_torture import KILLS_PER_TREE, RUNS, torture_tree

TREES = 4
"""Of six kills each."""


@pytest.mark.timeout(240)
@pytest.mark.requirement("children.deaths")
@pytest.mark.parametrize("tree", range(TREES))
async def test_each_run_is_told_of_once_whoever_dies(tree: int) -> None:
    toll = await torture_tree(name=str(tree))

    assert toll.kills.total() == KILLS_PER_TREE
    assert toll.ends.total() == RUNS
    assert toll.jobs
