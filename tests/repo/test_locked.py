"""The locked requirement files and the project's metadata agree."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repo import tree

NAMES = ("runtime", "local", "build", "dev")
PROGRAMS = {"shfmt-py": ("netclaw/sandbox/shell_parser.py", "shfmt")}
"""Runtime dependencies that bring a program and no module: the file that runs it, by that name."""
CHANNELS = {"discord-py": "discord", "slack-bolt": "slack"}
"""Libraries that a channel alone needs: they must be used as soon as it can be made."""
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")


def text(name: str) -> str:
    """One locked file."""
    return (tree.ROOT / f"requirements/{name}.txt").read_text()


def pins(name: str) -> dict[str, str]:
    """Locked version by normalised package name."""
    found = filter(None, map(PIN.match, text(name).splitlines()))
    return {canonicalize_name(match[1]): match[2] for match in found}


def declared() -> dict[str, list[Requirement]]:
    """What the metadata asks for, by the locked file that must hold it."""
    meta = tomllib.loads((tree.ROOT / "pyproject.toml").read_text())
    project, extras = meta["project"], meta["project"]["optional-dependencies"]
    wanted = {
        "runtime": project["dependencies"],
        "local": [*project["dependencies"], *extras["local"]],
        "build": [*project["dependencies"], *extras["build"], *meta["build-system"]["requires"]],
        "dev": [*project["dependencies"], *extras["dev"], *extras["build"]],
    }
    return {name: [Requirement(line) for line in lines] for name, lines in wanted.items()}


@pytest.mark.requirement("repo.locked")
@pytest.mark.parametrize("name", NAMES)
def test_every_declared_dependency_is_locked_at_a_version_it_allows(name: str) -> None:
    locked = pins(name)
    for wanted in declared()[name]:
        version = locked.get(canonicalize_name(wanted.name))
        assert version, f"{wanted.name} is not in requirements/{name}.txt: run scripts/lock"
        assert wanted.specifier.contains(version), f"{wanted} but locked at {version}"


def imported() -> set[str]:
    """Top-level names of everything that the package imports, wherever it does."""
    names: set[str] = set()
    for path in tree.files(under="netclaw", suffix=".py"):
        for node in ast.walk(ast.parse((tree.ROOT / path).read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".", 1)[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".", 1)[0])
    return names


def is_makeable(channel: str) -> bool:
    """Whether the module of a channel offers what makes its driver."""
    module = tree.ROOT / "netclaw/adapters" / channel / "__init__.py"
    return module.is_file() and "create" in module.read_text()


@pytest.mark.requirement("repo.locked")
def test_every_runtime_dependency_is_really_imported() -> None:
    modules = packages_distributions()
    used: set[str] = {
        canonicalize_name(distribution)
        for module in imported()
        for distribution in modules.get(module, [])
    }
    for distribution, (path, program) in PROGRAMS.items():
        assert f'"{program}"' in (tree.ROOT / path).read_text()
        used.add(distribution)
    wanted = {canonicalize_name(item.name) for item in declared()["runtime"]}
    wanted -= {name for name, channel in CHANNELS.items() if not is_makeable(channel)}
    assert wanted <= used, f"nothing imports {wanted - used}"


@pytest.mark.requirement("repo.locked")
@pytest.mark.parametrize("name", NAMES)
def test_every_pin_carries_hashes_and_no_address(name: str) -> None:
    blocks = re.split(r"\n(?=[A-Za-z0-9])", text(name))
    bare = [block.split()[0] for block in blocks if "==" in block and "--hash=sha256:" not in block]
    assert not bare, f"without a hash: {bare}"
    assert "://" not in text(name)
    assert not re.search(
        r"^\s*-{1,2}(i|e|f|index|extra-index|find-links)\b", text(name), re.MULTILINE
    )


@pytest.mark.requirement("repo.locked")
def test_the_files_never_disagree() -> None:
    everything: dict[str, str] = {}
    for name in NAMES:
        locked = pins(name)
        assert set(pins("runtime")) <= set(locked), f"requirements/{name}.txt is not complete"
        differing = {pkg for pkg in locked if everything.get(pkg, locked[pkg]) != locked[pkg]}
        assert not differing, f"{name} locks {differing} differently: run scripts/lock"
        everything |= locked
