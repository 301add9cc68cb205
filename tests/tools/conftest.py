"""Fixtures of the tool tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.rig import Rig


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """A Personal session without a project directory."""
    return Rig(folder=tmp_path.resolve())
