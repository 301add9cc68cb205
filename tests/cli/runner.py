"""Runs commands of the command line in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from netclaw.cli.main import run
from netclaw.config.home import Home


@dataclass(frozen=True)
class Result:
    """What a command left: exit code and both outputs."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value on standard output."""
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """JSON lines on standard output."""
        return [json.loads(line) for line in self.out.splitlines()]


class Cli:
    """The command line of one home."""

    def __init__(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Result:
        """Run a command."""
        self._capsys.readouterr()
        code = run(arguments)
        captured = self._capsys.readouterr()
        return Result(code, captured.out, captured.err)

    def ok(self, *arguments: str) -> Result:
        """Run a command that must succeed."""
        result = self(*arguments)
        assert result.code == 0, result
        return result
