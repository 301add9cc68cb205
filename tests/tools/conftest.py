"""Fixtures of the tool tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from netclaw.core.authz.profiles import ConsentModes
from netclaw.tools.factory import make_tool_runner
from tests.tools.judged import Recorder
from tests.tools.rig import PROVED, SOURCES, Rig


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """A Personal session without a project directory."""
    return Rig(folder=tmp_path.resolve())


@pytest.fixture
def shell() -> Recorder:
    """What stands in the sandbox's place."""
    return Recorder()


@pytest.fixture
def asking(rig: Rig, shell: Recorder) -> Rig:
    """A Personal session as nobody configured it: a command asks."""
    rig.modes = ConsentModes()
    rig.runner = make_tool_runner(PROVED, shell, SOURCES)
    return rig
