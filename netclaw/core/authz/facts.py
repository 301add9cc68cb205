"""The facts a decision rests on: what a command would do, and what the host says of its paths.

The analysis is pure. What it cannot know (how a text parses, where a path leads) it asks for by
name: `Needs` lists the questions, whoever runs the analysis fetches the answers into `Knowledge`
and runs it again, until nothing is asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from netclaw.core.authz.shell_nodes import Node
from netclaw.core.tool_call import FileOperation


class Unresolved(StrEnum):
    """Why the full effect of a command is not proved (glossary "unresolved syntax")."""

    SYNTAX = "syntax"
    """The text does not parse, or holds a construct that is not listed."""
    DYNAMIC_PROGRAM = "dynamic-program"
    DYNAMIC_WORD = "dynamic-word"
    BUILTIN = "builtin"
    """A builtin that runs text or changes what later words mean."""
    DIRECTORY = "directory"
    """A change of directory that cannot be followed."""
    GLOB = "glob"
    LINK = "link"
    """`..` after a link, or a path that cannot be resolved."""
    ASSIGNMENT = "assignment"
    INPUT = "input"
    """A program text that comes from a document or a pipe."""
    WORD_SHAPE = "word-shape"
    """A word that cannot be shown or stored as it is."""


class WordFix(StrEnum):
    """A rewrite that the model can make itself and that removes the cause (reference 6)."""

    PATH_GLOB = "path-glob"
    """`./*.txt` for `*.txt`, which could expand to an option."""
    FULL_PROGRAM_PATH = "full-program-path"


class PathKind(StrEnum):
    """What is at a path, its last link followed."""

    MISSING = "missing"
    FILE = "file"
    FOLDER = "folder"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathFact:
    """What the host says of one absolute path as it was written, `..` included.

    `canonical` is the path without dot segments; `resolved` follows every link, and is None when
    that failed.
    """

    canonical: str
    resolved: str | None
    kind: PathKind = PathKind.MISSING
    is_link: bool = False
    is_ambiguous: bool = False
    """A `..` after a link: the text and the kernel mean different places."""
    links: tuple[str, ...] | None = ()
    """Names of the links in a folder; None if it cannot be listed or holds very many."""
    has_top: bool = True
    """Whether the first component exists: `/repos/x` of an API names no file."""
    folder: str | None = None
    """Nearest existing folder, resolved, at or above where `resolved` is; None if not known."""
    holder: str | None = None
    """Nearest existing folder, resolved, above the name itself: a link's own, not its target's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryFact:
    """The Git repository around a folder, both resolved: its common directory and its worktree."""

    common: str
    worktree: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedShell:
    """What the parsers say of one text.

    `tree` proves and is None if the text is not accepted; `loose` are the words, as written, of
    everything that looks like a command: good for denials only.
    """

    tree: Node | None
    loose: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Questions that the analysis could not answer; empty when its facts are complete."""

    sources: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    repositories: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked."""
        return not (self.sources or self.paths or self.repositories)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """The answers so far."""

    sources: Mapping[str, ParsedShell] = field(default_factory=dict)
    paths: Mapping[str, PathFact] = field(default_factory=dict)
    repositories: Mapping[str, RepositoryFact | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where a command would run. `user_home` is the operator's, `shell_home` what `~` becomes."""

    cwd: str
    user_home: str
    shell_home: str
    netclaw_home: str
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values that the launch itself sets (`TMPDIR`, ...)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathUse:
    """One path that a command names, absolute as written, and what it may do there."""

    path: str
    operation: FileOperation
    fact: PathFact


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One command occurrence as words, for denials: shapes of each word, and its source text."""

    words: tuple[tuple[str, ...], ...]
    texts: tuple[str, ...]
    cwds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One command occurrence that needs coverage (glossary "candidate").

    `phrase` is the display and match unit; `argv` the decoded words, for the catalogues.
    """

    text: str
    phrase: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    cwds: tuple[str, ...] = ()
    paths: tuple[PathUse, ...] = ()
    assignments: tuple[tuple[str, str], ...] = ()
    has_redirect: bool = False
    is_exempt: bool = False
    unresolved: Unresolved | None = None
    fix: WordFix | None = None

    @property
    def digest(self) -> str | None:
        """`sha256:` of the assignments that qualify a grant; None without any."""
        if not self.assignments:
            return None
        text = "\0".join(f"{name}={value}" for name, value in sorted(set(self.assignments)))
        return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def display(self) -> str:
        """The phrase as people read it, or the text of a candidate that has none."""
        if self.unresolved is not None or not self.phrase:
            return self.text
        return display_of(self.phrase)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellFacts:
    """Everything one analysis found; the same facts serve every step of the decision."""

    source: str
    candidates: tuple[Candidate, ...] = ()
    invocations: tuple[Invocation, ...] = ()
    mentions: tuple[str, ...] = ()
    """Texts of words, documents and assigned values, decoded; for protected-name matches."""
    directories: tuple[str, ...] = ()
    """Every known directory that a command may run in."""
    has_too_many_values: bool = False
    is_parsed: bool = True
    is_too_long: bool = False
    """A text in it is not proved and too long to be searched: it has to be shortened."""


def display_of(phrase: tuple[str, ...]) -> str:
    """Words joined for people; a word with spaces is quoted, so that it cannot pass as two."""
    return " ".join(f'"{word}"' if any(map(str.isspace, word)) else word for word in phrase)
