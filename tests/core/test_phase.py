"""Every pair of phases, and the legal moves as the seed lists them."""

from __future__ import annotations

from itertools import product

import pytest

from netclaw.core.errors import IllegalTransitionError
from netclaw.core.session.phase import LEGAL_MOVES, Phase, move

LEGAL = {
    (Phase.RECOVERING, Phase.READY),
    (Phase.READY, Phase.PROCESSING),
    (Phase.READY, Phase.COMPACTING),
    (Phase.READY, Phase.PASSIVATING),
    (Phase.PROCESSING, Phase.READY),
    (Phase.PROCESSING, Phase.COMPACTING),
    (Phase.COMPACTING, Phase.READY),
    (Phase.COMPACTING, Phase.PROCESSING),
    (Phase.PASSIVATING, Phase.READY),
}


@pytest.mark.requirement("core.phase-moves")
@pytest.mark.parametrize(("current", "target"), list(product(Phase, Phase)))
def test_a_phase_moves_only_as_listed(current: Phase, target: Phase) -> None:
    if current is target or (current, target) in LEGAL:
        assert move(current, target) is target
    else:
        with pytest.raises(IllegalTransitionError, match=f"{current.value} -> {target.value}"):
            move(current, target)


def test_every_phase_has_a_row() -> None:
    assert set(LEGAL_MOVES) == set(Phase)
