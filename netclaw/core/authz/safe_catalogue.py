"""The reviewed-safe catalogue: read-only phrases that need no consent (glossary).

It ships with the daemon and no file extends it. A phrase matches as a prefix of the words, with
no option before it completes; options that make its program write or run something remove it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netclaw.core.authz.deny_rules import CatalogueError


@dataclass(frozen=True, slots=True, kw_only=True)
class SafePhrase:
    """One entry. `unless` are options that remove it; `only`, if given, all words it may have."""

    words: tuple[str, ...]
    has_network: bool = False
    """What it does needs the network, which it then gets without consent (decision 44)."""
    unless: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    reads_trees: bool = False
    """It may print whatever lies below a folder, without that being named."""
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()


def _entry(
    phrase: str,
    *,
    unless: str = "",
    only: str | None = None,
    has_network: bool = False,
    reads_trees: bool = False,
    match: tuple[str, ...] = (),
    not_match: tuple[str, ...] = (),
) -> SafePhrase:
    return SafePhrase(
        words=tuple(phrase.split()),
        has_network=has_network,
        unless=frozenset(unless.split()),
        only=None if only is None else frozenset(only.split()),
        reads_trees=reads_trees,
        match=(phrase, *match) if only is None else match,
        not_match=not_match,
    )


def find(argv: tuple[str, ...], catalogue: Iterable[SafePhrase]) -> SafePhrase | None:
    """The entry that a command's decoded words match; None if there is none."""
    return next((entry for entry in catalogue if _matches(entry, argv)), None)


def _matches(entry: SafePhrase, argv: tuple[str, ...]) -> bool:
    size = len(entry.words)
    if argv[:size] != entry.words:
        return False
    rest = argv[size:]
    if entry.only is not None and not entry.only.issuperset(rest):
        return False
    return not any(_is_option(word, option) for word in rest for option in entry.unless)


def _is_option(word: str, option: str) -> bool:
    """Whether a word is an option, joined to its value, or among other short ones."""
    if not word.startswith("-"):
        return False
    if option.startswith("--"):
        # Programs accept an abbreviated long option too.
        name = word.partition("=")[0]
        return len(name) > 2 and option.startswith(name)
    return not word.startswith("--") and option[1] in word[1:]


def check(entries: Iterable[SafePhrase]) -> tuple[SafePhrase, ...]:
    """The catalogue, if each entry agrees with its examples. Raises `CatalogueError`."""
    checked = tuple(entries)
    for entry in checked:
        if not entry.words:
            raise CatalogueError("a safe phrase has words")
        for text in entry.match:
            if not _matches(entry, tuple(text.split())):
                raise CatalogueError(f"the safe phrase {entry.words} does not match {text!r}")
        for text in entry.not_match:
            if _matches(entry, tuple(text.split())):
                raise CatalogueError(f"the safe phrase {entry.words} matches {text!r}")
    return checked


_GIT_OUTPUT = "--output --ext-diff --textconv"
_SIMPLE = "cd ls cat head tail wc tr du pwd realpath pgrep ps whoami uname uptime cut which stat df"

REVIEWED_SAFE = check(
    (
        *(_entry(name) for name in _SIMPLE.split()),
        _entry("grep", reads_trees=True, match=("grep -rn x src",)),
        _entry("egrep", reads_trees=True),
        _entry("fgrep", reads_trees=True),
        _entry(
            "rg",
            reads_trees=True,
            unless="--pre --hostname-bin",
            not_match=("rg --pre=sh x",),
        ),
        _entry("sort", unless="-o --output --compress-program", not_match=("sort -uo f f",)),
        _entry("uniq", only="-c -d -u -i -z -cd -dc", match=("uniq -c",), not_match=("uniq a b",)),
        _entry("jq", unless="--from-file -f"),
        _entry("tree", unless="-o -R"),
        _entry("file", unless="-C --compile"),
        _entry("date", unless="-s --set", match=("date -u +%F",), not_match=("date --set=x",)),
        _entry("git status", match=("git status -sb",), not_match=("git -C x status", "git stash")),
        _entry("git log", unless=_GIT_OUTPUT, match=("git log --oneline -3",)),
        _entry(
            "git diff",
            reads_trees=True,  # of any two folders, with --no-index
            unless=_GIT_OUTPUT,
            not_match=("git diff --output=x",),
        ),
        _entry("git show", unless=_GIT_OUTPUT),
        _entry("git blame"),
        _entry("git ls-tree"),
        _entry("git ls-files"),
        _entry("git rev-parse"),
        _entry("git merge-base"),
        _entry(
            "git branch",
            only="--show-current --list -l -a --all -r --remotes -v -vv --merged --no-merged",
            match=("git branch", "git branch --show-current"),
            not_match=("git branch -D x", "git branch x"),
        ),
        *(
            _entry(f"gh {phrase}", unless="-w --web", has_network=True)
            for phrase in (
                *("run view", "run list", "pr view", "pr list", "pr diff", "pr checks"),
                *("issue view", "issue list", "repo view", "release view"),
            )
        ),
    )
)
