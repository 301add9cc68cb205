"""Fixtures of the sandbox tests: one rig per working backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from netclaw.core.settings import SandboxBackendChoice
from tests.sandbox.rig import ESCAPE_RIGS, PROVED, WORKING, Rig


@pytest.fixture(params=WORKING, ids=str)
def rig(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[Rig]:
    """Every backend that works here; afterwards nothing of it may live."""
    made = Rig(facts=PROVED[request.param], folder=short_tmp.resolve())
    yield made
    assert made.left() == []


@pytest.fixture(params=ESCAPE_RIGS, ids=str)
def escape_rig(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[Rig]:
    """The backends that are attacked at length; afterwards nothing of it may live."""
    made = Rig(facts=PROVED[request.param], folder=short_tmp.resolve())
    yield made
    assert made.left() == []


@pytest.fixture(params=[*WORKING, "unconfined"], ids=str)
def any_rig(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[Rig]:
    """The same and HostAllowed, whose trees must end just as surely."""
    is_confined = request.param != "unconfined"
    choice = request.param if is_confined else SandboxBackendChoice.AUTO
    made = Rig(facts=PROVED[choice], folder=short_tmp.resolve(), is_confined=is_confined)
    yield made
    assert made.left() == []
