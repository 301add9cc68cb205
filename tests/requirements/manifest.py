"""Requirements as data: what netclaw promises, where each promise comes from, one sentence each.

Every other module in this folder lists its subject's `REQUIREMENTS`. A test says which promise it
shows with `@pytest.mark.requirement("id")`; `tests/repo/test_requirements.py` fails on a promise
without a test and on a mark without a promise.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

import tests.requirements as package

ID_SHAPE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9][a-z0-9_-]*)+")


class ManifestError(ValueError):
    """The manifest contradicts itself: a bad or doubled id, or an empty sentence."""


@dataclass(frozen=True)
class Requirement:
    """One promise.

    `id` is `<subject>.<name>` and never changes meaning; `source` names where it was decided
    ("decision 5", "protocol, Appending", "S0 Loop guard", "issue 2 item 3"); `text` is one sentence
    about behaviour that a person can see.
    """

    id: str
    source: str
    text: str

    def __post_init__(self) -> None:
        """Refuses what a reader could not use."""
        if not ID_SHAPE.fullmatch(self.id):
            message = f"{self.id!r} is not of the form subject.name"
            raise ManifestError(message)
        if not self.source.strip() or not self.text.strip():
            message = f"{self.id}: source and text must say something"
            raise ManifestError(message)


@dataclass(frozen=True)
class Promise:
    """A sentence of a document that users read, and the requirements whose tests show it.

    `text` says it in our own words. What waits for a part that is not built yet names that part in
    `later`, so that nothing is silently dropped; the requirements listed beside it show what holds
    already. What netclaw was decided not to have names that decision in `not_here`.
    """

    source: str
    text: str
    requirements: tuple[str, ...] = ()
    later: str = ""
    not_here: str = ""

    def __post_init__(self) -> None:
        """Refuses a promise that is neither shown nor awaited nor decided against."""
        if not self.source.strip() or not self.text.strip():
            message = f"a promise must have a source and words: {self}"
            raise ManifestError(message)
        if not (self.requirements or self.later or self.not_here):
            message = f"nothing shows this promise and nothing is awaited: {self.text}"
            raise ManifestError(message)


def promised(*words: str, later: str = "") -> Promise:
    """A promise as one line of a list: source, text, then the ids that show it."""
    source, text, *ids = words
    return Promise(source=source, text=text, requirements=tuple(ids), later=later)


def promises_in(text: str, source: str) -> Iterator[Promise]:
    """The promises of a map: `[section]`, a sentence a line, and indented below it what shows it.

    Raises `ManifestError` for one that nothing shows.
    """
    section = sentence = ""
    facts = _Facts()
    for line in (*text.splitlines(), "[end]"):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("    "):
            facts.take(line.strip())
            continue
        if sentence:
            yield Promise(f"{source} {section}", sentence, facts.ids, facts.later, facts.not_here)
        sentence, facts = "", _Facts()
        if line.startswith("["):
            section = line.strip("[]")
        else:
            sentence = line


@dataclass
class _Facts:
    """What stands below a sentence of a map."""

    ids: tuple[str, ...] = ()
    later: str = ""
    not_here: str = ""

    def take(self, words: str) -> None:
        match words.partition(": "):
            case ("later", _, part):
                self.later = part
            case ("not here", _, decision):
                self.not_here = decision
            case _:
                self.ids = (*self.ids, *words.split())


def _modules() -> Iterator[ModuleType]:
    for found in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        if found.name != "manifest":
            yield importlib.import_module(f"{package.__name__}.{found.name}")


def load() -> dict[str, Requirement]:
    """All requirements by id. Raises ManifestError if two share an id or a module lists none."""
    known: dict[str, Requirement] = {}
    for module in _modules():
        listed: tuple[Requirement, ...] = getattr(module, "REQUIREMENTS", ())
        if not listed:
            message = f"{module.__name__} lists no REQUIREMENTS"
            raise ManifestError(message)
        for requirement in listed:
            if requirement.id in known:
                message = f"{requirement.id} is listed twice"
                raise ManifestError(message)
            known[requirement.id] = requirement
    return known
