"""A home for configuration tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.homes import TempHome


@pytest.fixture
def temp(tmp_path: Path) -> TempHome:
    """A home that does not exist yet."""
    return TempHome(tmp_path / "home")
