"""Grants: stored operator consents, what they cover, and the values they are made of (glossary).

A grant applies to the audience and tool it names and to one scope: this chat, one folder, one Git
repository, or everywhere. Words match when they are equal, never as a prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.authority import Audience
from netclaw.core.authz.facts import Candidate, PathFact, RepositoryFact, display_of
from netclaw.core.path_rules import is_below


class GrantScope(StrEnum):
    """Where a grant applies; "scope" means nothing else here."""

    CHAT = "chat"
    FOLDER = "folder"
    REPOSITORY = "repository"
    EVERYWHERE = "everywhere"


class GrantForm(StrEnum):
    """How the words of a grant are stored."""

    TOKENS = "TokenPrefix"
    """Words of a shell phrase. The name is the file's; they have to be equal all the same."""
    LEGACY_EXACT = "LegacyExact"
    """A phrase of the file version before, as one text."""
    TOOL = "tool"
    """A tool that is no shell: its own name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One stored consent. Without folder and repository it applies everywhere."""

    audience: Audience
    tool: str
    form: GrantForm
    words: tuple[str, ...]
    created_at: str
    """Aware UTC, ISO 8601, as the file has it."""
    shell_name: str = "Bash"
    """For the forms of a shell; one of another shell covers nothing here."""
    directory: str | None = None
    repository: str | None = None
    """Common directory of a Git repository, resolved."""
    worktree: str | None = None
    """Worktree in which consent was given; shown to people, and not compared."""
    digest: str | None = None

    @property
    def label(self) -> str:
        """The grant as lists and `approvals revoke` name it."""
        # The words of a legacy grant are one text, quoted where it has to be already.
        is_text = self.form is GrantForm.LEGACY_EXACT
        return " ".join(self.words) if is_text else display_of(self.words)

    @property
    def scope(self) -> GrantScope:
        """Where it applies."""
        if self.repository is not None:
            return GrantScope.REPOSITORY
        return GrantScope.EVERYWHERE if self.directory is None else GrantScope.FOLDER


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatGrant:
    """A consent for one session; it lives in the supervisor's memory (decision 47)."""

    audience: Audience
    tool: str
    words: tuple[str, ...]
    digest: str | None = None

    @property
    def label(self) -> str:
        """The consent as lists and `approvals revoke` name it."""
        return display_of(self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTimeKey:
    """Lets the exact blocked call run once: equal tool, arguments, directory and shell."""

    tool: str
    arguments: str
    cwd: str
    shell_name: str = "Bash"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantStore:
    """The persistent grants as they were read just now; `fault` says why they could not be."""

    grants: tuple[Grant, ...] = ()
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What is known of the folders that grants are compared with."""

    paths: Mapping[str, PathFact]
    repositories: Mapping[str, RepositoryFact | None]


def chat_covers(
    grants: Iterable[ChatGrant], audience: Audience, tool: str, candidate: Candidate
) -> bool:
    """Whether a chat grant covers a candidate."""
    wanted = ChatGrant(
        audience=audience, tool=tool, words=candidate.phrase, digest=candidate.digest
    )
    return bool(candidate.phrase) and wanted in grants


def covers(
    grants: Iterable[Grant], audience: Audience, tool: str, candidate: Candidate, places: Places
) -> bool:
    """Whether a persistent grant covers a candidate."""
    return any(
        grant.audience is audience
        and (grant.tool, grant.shell_name) == (tool, "Bash")
        and _has_words(grant, candidate)
        and grant.digest == candidate.digest
        and _is_in_scope(grant, candidate, places)
        for grant in grants
    )


def _has_words(grant: Grant, candidate: Candidate) -> bool:
    if not candidate.phrase:
        return False
    if grant.form is GrantForm.LEGACY_EXACT:
        return grant.words == (display_of(candidate.phrase),)
    return grant.words == candidate.phrase


def _is_in_scope(grant: Grant, candidate: Candidate, places: Places) -> bool:
    if grant.repository is not None:
        return repository_of(candidate, places) == grant.repository
    if grant.directory is None:
        return True
    return is_within(grant.directory, candidate, places)


def is_within(directory: str, candidate: Candidate, places: Places) -> bool:
    """Whether all that a candidate does is in a folder, and reaches it through no link below it."""
    folder = places.paths.get(directory)
    if folder is None or folder.resolved is None or not candidate.cwds:
        return False
    facts = [use.fact for use in candidate.paths]
    for cwd in candidate.cwds:
        fact = places.paths.get(cwd)
        if fact is None:
            return False
        facts.append(fact)
    return all(_is_straight_below(folder, fact) for fact in facts)


def _is_straight_below(folder: PathFact, fact: PathFact) -> bool:
    if not is_below(fact.canonical, folder.canonical) or folder.resolved is None:
        return False
    rest = fact.canonical[len(folder.canonical.rstrip("/")) :]
    return fact.resolved == (folder.resolved.rstrip("/") + rest or "/")


def repository_of(candidate: Candidate, places: Places) -> str | None:
    """The one repository in which a candidate does all it does; None if there is none."""
    found: set[str] = set()
    for cwd in candidate.cwds:
        repository = places.repositories.get(cwd)
        if repository is None or not _are_inside(candidate, repository):
            return None
        found.add(repository.common)
    return found.pop() if len(found) == 1 else None


def _are_inside(candidate: Candidate, repository: RepositoryFact) -> bool:
    return all(
        use.fact.resolved is not None and is_below(use.fact.resolved, repository.worktree)
        for use in candidate.paths
    )


def is_needed(grant: Grant, existing: Sequence[Grant]) -> bool:
    """Whether saving a grant would add something to those there are (reference 5).

    An everywhere grant makes the same words in a folder unneeded, and a folder those below it.
    """
    return not any(_includes(other, grant) for other in existing)


def _subject(grant: Grant) -> tuple[object, ...]:
    """What a grant is for, wherever it applies."""
    return (grant.audience, grant.tool, grant.shell_name, grant.form, grant.words, grant.digest)


def _includes(wide: Grant, narrow: Grant) -> bool:
    if _subject(wide) != _subject(narrow):
        return False
    if wide.scope is GrantScope.EVERYWHERE:
        return True
    if wide.scope is GrantScope.REPOSITORY:
        return wide.repository == narrow.repository
    if narrow.scope is not GrantScope.FOLDER:
        return False
    return is_below(narrow.directory or "", wide.directory or "")
