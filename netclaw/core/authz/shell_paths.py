"""Finds the paths that the words of a command name, and what is not proved about them.

Exact and finite values, the folder that a glob covers, values of options, `@file` (reference 3).
A URL is no path; an absolute word whose first folder does not exist is none either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from netclaw.core.authz.collector import Collector
from netclaw.core.authz.decoding import UNKNOWN, glob_matches, has_glob
from netclaw.core.authz.facts import PathFact, PathKind, PathUse, Unresolved, WordFix
from netclaw.core.authz.words import WordFact
from netclaw.core.tool_call import FileOperation

MAX_PATH_CHARS = 4096

NULL_DEVICE = "/dev/null"

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SHORT_OPTION = re.compile(r"-[A-Za-z]([/~.].*)", re.DOTALL)
_FIRST_GLOB = re.compile("[\1\2\3]")
_CONTROL = re.compile("[\x00-\x1f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPaths:
    """The paths of some words."""

    uses: tuple[PathUse, ...] = ()
    unresolved: Unresolved | None = None
    fix: WordFix | None = None


class PathFinder:
    """Looks words up in the directories in which one command may run."""

    def __init__(self, collector: Collector, directories: tuple[str, ...]) -> None:
        self._collector = collector
        self._directories = directories
        self._uses: dict[tuple[str, FileOperation], PathUse] = {}
        self._unresolved: Unresolved | None = None
        self._fix: WordFix | None = None

    def look_at(
        self, words: Iterable[WordFact], operation: FileOperation, *, is_certain: bool = False
    ) -> None:
        """Adds the paths of some words; `is_certain` if each whole word is one path."""
        for word in words:
            for shape in word.shapes:
                pieces = [shape] if is_certain else path_texts(shape)
                for text in pieces:
                    self._look_up(text, operation, is_certain=is_certain)

    def found(self) -> FoundPaths:
        """All of it."""
        return FoundPaths(
            uses=tuple(self._uses.values()), unresolved=self._unresolved, fix=self._fix
        )

    def names_file(self, word: str) -> bool:
        """Whether a word is an existing file or folder, and no link, where the command runs."""
        facts = [self._collector.path(path) for path in absolute(word, self._directories)]
        return bool(facts) and all(
            fact is not None and fact.kind is not PathKind.MISSING and not fact.is_link
            for fact in facts
        )

    def _look_up(self, shape: str, operation: FileOperation, *, is_certain: bool) -> None:
        if UNKNOWN in shape or not shape:
            return
        is_glob = has_glob(shape)
        if len(shape) > MAX_PATH_CHARS:
            if is_glob:  # what it matches may be short
                self._unresolved = Unresolved.GLOB
            return
        text = self._covering(shape) if is_glob else _clean(shape)
        if text is None:
            return
        for path in absolute(text, self._directories):
            fact = self._collector.path(path)
            if fact is None:
                continue
            if fact.is_ambiguous or fact.resolved is None:
                self._unresolved = Unresolved.LINK
            elif is_glob and _may_match_link(shape, fact):
                self._unresolved = Unresolved.GLOB
            is_written = "/" in text and (is_glob or text == shape)
            is_path = is_certain or is_glob or is_written or _is_there(text, fact)
            if is_path and fact.has_top and fact.canonical != NULL_DEVICE:
                self._uses[path, operation] = PathUse(path=path, operation=operation, fact=fact)

    def _covering(self, shape: str) -> str | None:
        """The folder whose entries a glob can match; None where more than that is open."""
        first = _FIRST_GLOB.search(shape)
        at = first.start() if first is not None else 0
        folder, slash, start = shape[:at].rpartition("/")
        if "/" in shape[at:]:
            self._unresolved = Unresolved.GLOB
            return None
        if not slash and not start:
            self._fix = WordFix.PATH_GLOB
        return f"{folder}/" if slash else "."


def _may_match_link(shape: str, folder: PathFact) -> bool:
    """Whether a glob in a folder could match a link, through which a path leaves the folder."""
    if folder.links is None:
        return True
    pattern = shape.rpartition("/")[2]
    return any(glob_matches(pattern, name) for name in folder.links)


def _is_there(text: str, fact: PathFact) -> bool:
    """Whether a word that was not written as a path is one all the same."""
    return fact.kind is not PathKind.MISSING or fact.is_link or text in (".", "..")


def path_texts(shape: str) -> Iterator[str]:
    """The parts of a word that may name a path."""
    if _URL.match(shape):
        return
    text = shape
    if shape.startswith("-"):
        short = _SHORT_OPTION.match(shape)
        _, equals, value = shape.partition("=")
        text = value if equals else short.group(1) if short is not None else ""
    elif "=" in shape:
        yield from _file_values(shape.partition("=")[2])
    yield from _file_values(text)


def _file_values(text: str) -> Iterator[str]:
    value = text.removeprefix("@")
    if _URL.match(value):
        return
    yield value
    if ":" in value:
        parts = dict.fromkeys(value.split(":"))
        yield from (part for part in parts if part.startswith(("/", "~")))


def _clean(text: str) -> str | None:
    """The text up to its deepest folder without control characters; None if there is none."""
    control = _CONTROL.search(text)
    if control is None:
        return text
    folder, slash, _ = text[: control.start()].rpartition("/")
    return f"{folder}/" if slash else None


def absolute(text: str, directories: tuple[str, ...]) -> tuple[str, ...]:
    """A path as the kernel would be given it, in each directory; dot segments are kept."""
    if text.startswith("/"):
        return (text,)
    return tuple(f"{directory.rstrip('/')}/{text}" for directory in directories)


def normal(path: str) -> str:
    """An absolute path without empty and dot segments; links are not followed."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)
