"""The file of another program's words stays bounded and keeps its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from netclaw.observe.plain_file import KEPT_BYTES, shorten_file


@pytest.mark.requirement("observe.bounded-plain")
def test_a_large_file_keeps_its_newest_lines(tmp_path: Path) -> None:
    path = tmp_path / "local-model.log"
    lines = [f"line {number}" for number in range(100_000)]
    path.write_text("\n".join(lines) + "\n")
    shorten_file(path, max_bytes=500_000)
    kept = path.read_text().splitlines()
    assert path.stat().st_size <= KEPT_BYTES
    assert kept == lines[-len(kept) :]
    assert len(kept) > 1000


@pytest.mark.requirement("observe.bounded-plain")
def test_a_file_within_its_limit_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "local-model.log"
    path.write_text("one\ntwo")
    shorten_file(path, max_bytes=7)
    assert path.read_text() == "one\ntwo"


def test_a_file_that_is_not_there_is_none_of_its_business(tmp_path: Path) -> None:
    shorten_file(tmp_path / "none")
    assert not (tmp_path / "none").exists()
