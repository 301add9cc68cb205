"""What is read from `git status`: the branch and counts, nothing else the repository says."""

from __future__ import annotations

import pytest

from netclaw.core.context.git_facts import (
    BRANCH_CHARACTERS,
    GitFacts,
    parse_status,
    render_git,
)

HEADERS = (b"# branch.oid 0123", b"# branch.head main", b"# branch.upstream o/main")
MANY = (
    *HEADERS,
    b"1 M. N... 100644 100644 100644 1 2 staged.py",
    b"1 .M N... 100644 100644 100644 1 2 unstaged.py",
    b"1 AM N... 100644 100644 100644 1 2 both.py",
    b"2 R. N... 100644 100644 100644 1 2 R100 new.py",
    b"? an old name that looks like an untracked file",
    b"u UU N... 1 2 3 4 5 6 7 both.py",
    b"? untracked.py",
    b"! ignored",
    b"1 ",
    b"",
)


def joined(*entries: bytes) -> bytes:
    return b"".join(entry + b"\0" for entry in entries)


@pytest.mark.requirement("context.git-facts")
def test_changes_are_counted_where_they_are() -> None:
    facts = parse_status(joined(*MANY))
    assert facts == GitFacts(branch="main", staged=3, unstaged=2, untracked=1, conflicted=1)
    assert render_git(facts) == (
        "git: branch main; 3 staged, 2 unstaged, 1 untracked, 1 conflicted"
    )


@pytest.mark.requirement("context.git-facts")
def test_what_was_cut_is_counted_as_at_least_and_without_its_broken_end() -> None:
    output = joined(*HEADERS, b"? a") + b"? half of a na"
    facts = parse_status(output, is_cut=True)
    assert facts == GitFacts(branch="main", untracked=1, is_cut=True)
    assert render_git(facts) == "git: branch main; at least 1 untracked"


@pytest.mark.requirement("context.git-facts")
def test_without_a_branch_header_nothing_is_known() -> None:
    assert parse_status(b"fatal: not a git repository\n") is None
    assert parse_status(b"") is None


@pytest.mark.requirement("context.git-facts")
def test_a_branch_name_is_no_way_into_the_prompt() -> None:
    name = b"x\n\x1b[0m\xff" + b"y" * 1000
    facts = parse_status(joined(b"# branch.head " + name))
    assert facts is not None
    assert facts.branch == "x[0m\ufffd" + "y" * (BRANCH_CHARACTERS - 5)


@pytest.mark.requirement("context.git-facts")
def test_a_detached_head_is_said() -> None:
    facts = parse_status(joined(b"# branch.head (detached)"))
    assert facts == GitFacts(branch="")
    assert render_git(facts) == "git: no branch checked out; no changes"
