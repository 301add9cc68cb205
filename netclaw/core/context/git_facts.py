"""What an inspection of a Git repository found, read from the output of `git status`.

Only counts and the branch are taken: names of files are the repository's words, not facts.
"""

from __future__ import annotations

from dataclasses import dataclass

BRANCH_CHARACTERS = 120
"""Longer names are cut: a repository may call its branch anything."""

_DETACHED = "(detached)"
_BRANCH = b"# branch.head "


@dataclass(frozen=True, slots=True, kw_only=True)
class GitFacts:
    """The state of a working tree."""

    branch: str
    """Empty where no branch is checked out."""
    staged: int = 0
    unstaged: int = 0
    untracked: int = 0
    conflicted: int = 0
    is_cut: bool = False
    """The output had no end within its bound: there are at least so many of each."""


def parse_status(output: bytes, *, is_cut: bool = False) -> GitFacts | None:
    """Read `git status --porcelain=v2 --branch -z`; None for anything else.

    Of output that was cut the last entry is not counted: it may not be whole.
    """
    entries = output.split(b"\0")[:-1]
    branch: str | None = None
    counts = dict.fromkeys(("staged", "unstaged", "untracked", "conflicted"), 0)
    is_origin = False
    for entry in entries:
        if is_origin:
            is_origin = False
            continue
        if entry.startswith(_BRANCH):
            branch = _shown(entry[len(_BRANCH) :])
        is_origin = entry.startswith(b"2 ")
        for kind in _kinds(entry):
            counts[kind] += 1
    return None if branch is None else GitFacts(branch=branch, is_cut=is_cut, **counts)


def render_git(facts: GitFacts) -> str:
    """One line for the working context."""
    counts = [
        f"{count} {name}"
        for name, count in (
            ("staged", facts.staged),
            ("unstaged", facts.unstaged),
            ("untracked", facts.untracked),
            ("conflicted", facts.conflicted),
        )
        if count
    ]
    where = f"branch {facts.branch}" if facts.branch else "no branch checked out"
    changes = ", ".join(counts) or "no changes"
    return f"git: {where}; {'at least ' if facts.is_cut else ''}{changes}"


def _kinds(entry: bytes) -> tuple[str, ...]:
    """What one entry counts as: the index and the working tree each have a letter of their own."""
    if entry.startswith(b"? "):
        return ("untracked",)
    if entry.startswith(b"u "):
        return ("conflicted",)
    if not entry.startswith((b"1 ", b"2 ")) or len(entry) < len(b"1 XY"):
        return ()
    staged = ("staged",) if entry[2:3] != b"." else ()
    return (*staged, "unstaged") if entry[3:4] != b"." else staged


def _shown(name: bytes) -> str:
    text = name.decode("utf-8", "replace")
    if text == _DETACHED:
        return ""
    return "".join(char for char in text if char.isprintable())[:BRANCH_CHARACTERS]
