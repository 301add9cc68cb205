"""Protected paths of a netclaw home: stores nobody may read, and configuration nobody may write.

The rule for text is wider than the rule for paths, because a program can be told a path in ways
that no list of words shows (reference 3 and 4; glossary "ordinary configuration").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from netclaw.core.authz.decoding import GLOBS, UNKNOWN, glob_matches, is_plain, shown
from netclaw.core.authz.deny_rules import CatalogueError
from netclaw.core.authz.facts import PathFact, PathKind, ShellFacts
from netclaw.core.authz.protected_catalogue import CONFIGURATION, PROTECTED_PLACES, ProtectedPlace
from netclaw.core.authz.shell_paths import absolute, normal, path_texts
from netclaw.core.path_rules import is_below
from netclaw.core.tool_call import FileOperation

HIDDEN = tuple(place.name for place in PROTECTED_PLACES if place.is_hidden)
READ_ONLY = tuple(place.name for place in PROTECTED_PLACES if not place.is_hidden)
"""Below the home; the home itself is read-only too, for it holds the others."""

DEFAULT_NAME = ".netclaw"

_NEEDS_BOUNDARY = r"(?![a-z0-9_-])"
_TOKEN = re.compile(r"\S+")


def names_of(path: str) -> str:
    """A path as it is compared: without dot segments, case not counting."""
    return normal(path).casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedPaths:
    """The protected places. `homes` are all spellings of the home, lexical and resolved."""

    homes: tuple[str, ...]
    user_home: str

    def is_protected(self, fact: PathFact, operation: FileOperation) -> bool:
        """Whether an operation on a path is denied, however the path is spelled.

        A path that could not be resolved is protected.
        """
        if fact.resolved is None:
            return True
        return any(
            self._is_denied(names_of(path), operation) for path in (fact.canonical, fact.resolved)
        )

    def hidden(self) -> tuple[str, ...]:
        """What nobody may read, as it is spelled on disk."""
        homes = (*self.homes, f"{self.user_home}/{DEFAULT_NAME}")
        return tuple(dict.fromkeys(f"{home}/{name}" for home in homes for name in HIDDEN))

    def _is_denied(self, path: str, operation: FileOperation) -> bool:
        if any(is_below(path, place) for place in self._places(HIDDEN)):
            return True
        if operation is not FileOperation.WRITE:
            return False
        if path in self._spelled:
            return True
        return any(is_below(path, place) for place in self._places(READ_ONLY))

    @property
    def _spelled(self) -> tuple[str, ...]:
        return _spelled(self.homes, self.user_home)

    def _places(self, names: Sequence[str]) -> Iterator[str]:
        for home in self._spelled:
            for name in names:
                yield f"{home}/{name}"

    def _is_in_configuration(self, path: str) -> bool:
        return any(is_below(path, place) for place in self._places((CONFIGURATION,)))

    def is_command_protected(self, facts: ShellFacts, paths: Mapping[str, PathFact]) -> bool:
        """Whether a command names, or runs in, a protected place in any way that can be seen."""
        uses = [use for candidate in facts.candidates for use in candidate.paths]
        if any(self.is_protected(use.fact, use.operation) for use in uses):
            return True
        if any(
            self.is_protected(paths[folder], FileOperation.WRITE) for folder in facts.directories
        ):
            return True
        readable = frozenset(
            names_of(use.path)
            for use in uses
            if use.operation is FileOperation.READ and self._is_ordinary_file(use.fact)
        )
        if any(self._is_mentioned(text, facts.directories, readable) for text in facts.mentions):
            return True
        words = {
            (shape, invocation.cwds)
            for invocation in facts.invocations
            for shapes in invocation.words
            for shape in shapes
        }
        return any(self._is_named(shape, cwds, readable) for shape, cwds in words)

    def _is_ordinary_file(self, fact: PathFact) -> bool:
        return fact.kind is PathKind.FILE and self._is_in_configuration(names_of(fact.canonical))

    def _is_mentioned(
        self, shape: str, directories: Sequence[str], readable: frozenset[str]
    ) -> bool:
        """Whether a text holds a protected name, unless it is exactly a readable file."""
        if _is_readable(shape, directories, readable):
            return False
        text = plain_text(shown(shape))
        return _mention(self._spelled).search(text) is not None

    def _is_named(self, shape: str, cwds: Sequence[str], readable: frozenset[str]) -> bool:
        """Whether a word, as a path in any of the directories, is or may be protected."""
        if _is_readable(shape, cwds, readable):
            return False
        return any(
            self._may_reach(path)
            for text in path_texts(shape)
            for path in absolute(text, tuple(cwds))
        )

    def _may_reach(self, path: str) -> bool:
        parts = _parts(path)
        return any(_reaches(parts, place, depth) for place, depth in _shell_places(self._spelled))


@lru_cache(maxsize=64)
def _spelled(homes: tuple[str, ...], user_home: str) -> tuple[str, ...]:
    default = f"{user_home}/{DEFAULT_NAME}"
    return tuple(dict.fromkeys(names_of(home) for home in (*homes, default)))


@lru_cache(maxsize=64)
def _mention(spelled: tuple[str, ...]) -> re.Pattern[str]:
    """What a text names that names a protected place, the default home's included."""
    heads = "|".join(re.escape(place) for place in (*spelled, DEFAULT_NAME))
    tails = "|".join(re.escape(name) for name in (*HIDDEN, CONFIGURATION))
    return re.compile(f"(?:{heads})/+(?:{tails}){_NEEDS_BOUNDARY}")


@lru_cache(maxsize=64)
def _shell_places(spelled: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], int], ...]:
    """Components of each place that no shell word may reach, and how many are the home's."""
    return tuple(
        (tuple(_parts(f"{home}/{name}")), len(_parts(home)))
        for home in spelled
        for name in (*HIDDEN, CONFIGURATION)
    )


def _is_readable(shape: str, cwds: Sequence[str], readable: frozenset[str]) -> bool:
    if not readable or not is_plain(shape):
        return False
    paths = absolute(shape, tuple(cwds))
    return bool(paths) and all(names_of(path) in readable for path in paths)


def plain_text(text: str) -> str:
    """A text as names are looked for in it: no quotes, no detours, no case."""
    made = re.sub(r"['\"\\]", "", text).casefold()
    made = re.sub(r"/+(?:\./+)*", "/", made)
    return _TOKEN.sub(lambda found: _straight(found.group()), made) if "/.." in made else made


def _straight(text: str) -> str:
    """A word without its detours through `..`; what stands before its first slash stays."""
    parts: list[str] = []
    for part in text.split("/"):
        if part == ".." and len(parts) > 1:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _parts(path: str) -> list[str]:
    return normal(path).strip("/").split("/")


def _reaches(parts: Sequence[str], place: Sequence[str], home_depth: int) -> bool:
    """Whether a path with globs and unknown parts may be, or lie below, a protected place.

    An unknown part counts only from the home on: before that it could be anything at all, and the
    command needs consent for that reason.
    """
    for depth, wanted in enumerate(place):
        if depth >= len(parts):
            return False
        part = parts[depth]
        if UNKNOWN in part:
            return depth >= home_depth
        if not _matches(part, wanted):
            return False
    return True


def _matches(part: str, wanted: str) -> bool:
    if GLOBS.isdisjoint(part):
        return part.casefold() == wanted.casefold()
    return glob_matches(part, wanted)


def spellings(paths: Iterable[str]) -> tuple[str, ...]:
    """Distinct spellings of one place, in order."""
    return tuple(dict.fromkeys(path for path in paths if path.startswith("/")))


def check_places(places: Iterable[ProtectedPlace]) -> None:
    """Whether each place agrees with its examples. Raises `CatalogueError`."""
    sample = ProtectedPaths(homes=("/srv/claw",), user_home="/home/op")
    for place in places:
        operation = FileOperation.READ if place.is_hidden else FileOperation.WRITE
        examples = [*((text, True) for text in place.match)]
        examples += [(text, False) for text in place.not_match]
        for text, expected in examples:
            path = f"/srv/claw/{text}"
            fact = PathFact(canonical=path, resolved=path)
            if sample.is_protected(fact, operation) is not expected:
                raise CatalogueError(f"the protected place {place.name!r} fails at {text!r}")


check_places(PROTECTED_PLACES)
