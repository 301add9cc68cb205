"""Every import contract holds, and each of them breaks when its rule is broken."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.repo import tree

# One forbidden import for each contract: (module it is planted in, the import).
BREACHES = [
    ("layers", "core", "import netclaw.wire"),
    ("layers", "ports", "import netclaw.config"),
    ("layers", "tools", "import netclaw.sandbox"),
    ("layers", "supervisor", "import netclaw.session_proc"),
    ("layers", "session_proc", "import netclaw.cli"),
    ("layers", "wire", "import netclaw.observe"),
    ("core-pure", "core", "import asyncio"),
    ("core-pure", "core", "import time"),
    ("core-pure", "core", "from os import environ"),
    ("core-pure", "core", "import grpc"),
    ("core-pure", "core", "import msgspec"),
    ("ports-light", "ports", "import pydantic"),
    ("one-writer", "session_proc", "import netclaw.store"),
    ("one-writer", "tools", "import apsw"),
    ("settings-as-values", "session_proc", "import netclaw.config"),
    ("settings-as-values", "models", "import pydantic"),
    ("no-vendor-sdk", "supervisor", "import anthropic"),
    ("no-vendor-sdk", "cli", "def later() -> None:\n    import openai"),
    ("adapter-process", "adapters", "import netclaw.config.home"),
]


def contract_ids() -> set[str]:
    """The contracts of pyproject.toml."""
    meta = tomllib.loads((tree.ROOT / "pyproject.toml").read_text())
    return {contract["id"] for contract in meta["tool"]["importlinter"]["contracts"]}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package and its contracts that a test may spoil."""
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(tree.ROOT / "netclaw", tmp_path / "netclaw", ignore=ignore)
    shutil.copy2(tree.ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(root: Path, contract: str) -> subprocess.CompletedProcess[str]:
    """Runs one contract over the package in `root`."""
    program = "from importlinter.cli import lint_imports_command as run; run()"
    command = [sys.executable, "-c", program, "--no-cache", "--no-logo", "--contract", contract]
    return subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.requirement("repo.layers")
def test_every_contract_has_a_breach_to_prove_it() -> None:
    assert contract_ids() == {contract for contract, _, _ in BREACHES}


@pytest.mark.timeout(60)
@pytest.mark.requirement("repo.layers")
@pytest.mark.parametrize(("contract", "module", "line"), BREACHES)
def test_a_breach_breaks_its_contract(package: Path, contract: str, module: str, line: str) -> None:
    (package / "netclaw" / module / "planted.py").write_text(f"{line}\n")
    result = lint(package, contract)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "1 broken" in result.stdout, result.stdout
    assert "planted" in result.stdout, result.stdout
