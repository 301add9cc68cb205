"""The log of an adapter process."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from netclaw.adapters import log
from netclaw.observe.logs import JsonFormatter
from netclaw.observe.redact import Redactor


@pytest.mark.requirement("channel_host.process")
def test_it_holds_no_secret_and_does_not_grow_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "MAX_BYTES", 100_000)
    path = tmp_path / "adapter-loop.log"
    with path.open("a", encoding="utf-8") as stream:
        handler = log.AppendedLog(path)
        handler.setStream(stream)
        handler.setFormatter(JsonFormatter(Redactor(("the-token-of-the-platform",))))
        for number in range(1000):
            text = f"line {number} with the-token-of-the-platform {'x' * 200}"
            handler.handle(logging.makeLogRecord({"msg": text, "levelno": logging.INFO}))
    lines = path.read_text().splitlines()
    assert path.stat().st_size < 200_000
    assert json.loads(lines[-1])["message"].startswith("line 999")
    assert "the-token-of-the-platform" not in path.read_text()
