"""Rules that hold for every file: size, no fixed sleeps in tests, nobody's machine named."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repo import tree

LINES_AT_MOST = 400
SLEEP_BELOW_S = 0.2

SLEEPS = {"time.sleep", "asyncio.sleep", "sleep"}

# Hosts that the repository may name: reserved names, loopback, the model vendors' own endpoints.
HOSTS = re.compile(
    r"(.*\.)?(example(\.(com|org|net))?|test|invalid|localhost|internal\.invalid)"
    r"|127\.0\.0\.1|0\.0\.0\.0|\[?::1\]?"
    r"|api\.openai\.com|api\.anthropic\.com|openrouter\.ai"
    r"|hooks\.slack\.com|slack\.com|discord\.com"
    r"|json-schema\.org|keepachangelog\.com|semver\.org"
    r"|HOST|host|model|model\.local|[a-z]{1,3}"
)
URL = re.compile(r"\b(?:https?|wss?)://(?:[^@\s/]*@)?([A-Za-z0-9.:\[\]-]+)")
# Written in two parts so that this file does not match itself.
MACHINE = re.compile("|".join(["/" + "work/", "/" + "opt/(?:pypi|wheels)", "py" + "pi\\.org"]))


def programs() -> list[str]:
    """Every Python file and every script of the repository."""
    python = tree.files(suffix=".py")
    scripts = [path for path in tree.files(under="scripts") if not path.endswith(".py")]
    return [*python, *scripts, *tree.files(under=".ci")]


@pytest.mark.requirement("repo.file-size")
def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    sizes = {path: len((tree.ROOT / path).read_text().splitlines()) for path in programs()}
    long = {path: lines for path, lines in sizes.items() if lines > LINES_AT_MOST}
    assert not long, f"split these, each probably holds two things: {long}"


def called(function: ast.expr) -> str:
    """`module.name` or `name` of what is called; empty for anything more involved."""
    match function:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return f"{module}.{name}"
    return ""


def fixed_sleeps(source: str) -> Iterator[int]:
    """Yields the lines that sleep for a constant of SLEEP_BELOW_S or more."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not node.args or called(node.func) not in SLEEPS:
            continue
        value = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        if isinstance(value, int | float) and value >= SLEEP_BELOW_S:
            yield node.lineno


@pytest.mark.requirement("repo.no-fixed-sleeps")
def test_tests_wait_for_conditions_and_never_for_time() -> None:
    found = [
        f"{path}:{line}"
        for path in tree.files(under="tests", suffix=".py")
        for line in fixed_sleeps((tree.ROOT / path).read_text())
    ]
    assert not found, f"wait for the condition, with a bound: {found}"


@pytest.mark.requirement("repo.no-fixed-sleeps")
def test_the_sleep_finder_tells_short_polls_from_fixed_waits() -> None:
    source = "time.sleep(0.01)\nasyncio.sleep(pause)\ntime.sleep(2)\nawait asyncio.sleep(0.2)\n"
    assert list(fixed_sleeps(source)) == [3, 4]


def foreign_names(text: str) -> list[str]:
    """Machine paths and hosts in `text` that the repository has no business naming."""
    hosts = [found.group(1) for found in URL.finditer(text)]
    bare = [re.sub(r":(\d+|port|PORT)?$", "", host).rstrip(".") for host in hosts]
    return [host for host in bare if not HOSTS.fullmatch(host)] + MACHINE.findall(text)


@pytest.mark.requirement("repo.speaks-of-itself")
def test_no_file_names_a_machine_or_a_host_of_somebodys_network() -> None:
    found: dict[str, list[str]] = {}
    for path in tree.files():
        content = (tree.ROOT / path).read_bytes()
        if b"\0" not in content and (names := foreign_names(content.decode(errors="replace"))):
            found[path] = names
    assert not found, f"unexpected names (extend HOSTS only for a public, needed one): {found}"


@pytest.mark.requirement("repo.speaks-of-itself")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://127.0.0.1:8080/v1 and https://api.openai.com/v1", []),
        ("see https:" + "//mirror.corp/simple", ["mirror.corp"]),
        ("http:" + "//user:secret@box.lan:99/x", ["box.lan"]),
        ("cd /" + "work/main", ["/" + "work/"]),
    ],
)
def test_the_name_finder_knows_foreign_hosts_and_paths(text: str, expected: list[str]) -> None:
    assert foreign_names(text) == expected


@pytest.mark.requirement("repo.file-size")
def test_every_program_starts_by_saying_what_it_is_for() -> None:
    silent = []
    for path in programs():
        text = (tree.ROOT / path).read_text()
        if path.endswith(".py"):
            says = bool(ast.get_docstring(ast.parse(text))) or not text.strip()
        else:
            says = "\n# " in text[:400] or '"""' in text[:400]
        if not says and Path(path).name != "__init__.py":
            silent.append(path)
    assert not silent, f"the first line says what a file is for: {silent}"
