"""The answers a consent request offers, in fixed order, and what each of them stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.authority import Audience
from netclaw.core.authz.facts import Candidate, Surroundings
from netclaw.core.authz.grants import (
    ChatGrant,
    Grant,
    GrantForm,
    OneTimeKey,
    Places,
    is_within,
    repository_of,
)
from netclaw.core.path_rules import is_below, is_below_any
from netclaw.core.session.consent_events import ConsentEffect, ConsentOption


class OptionKey(StrEnum):
    """What travels and is stored (reference 5); the order is that of the prompt."""

    ONCE = "approve_once"
    SESSION = "approve_session"
    ALWAYS = "approve_always"
    REPOSITORY = "approve_repository"
    EVERYWHERE = "approve_everywhere"
    DENY = "deny"


_ASSIGNMENT_KEYS = {
    OptionKey.SESSION: "approve_assignment_session_v1",
    OptionKey.ALWAYS: "approve_assignment_always_v1",
    OptionKey.REPOSITORY: "approve_assignment_repository_v1",
    OptionKey.EVERYWHERE: "approve_assignment_everywhere_v1",
}
_LABELS = {
    OptionKey.ONCE: "Once",
    OptionKey.SESSION: "This chat",
    OptionKey.ALWAYS: "Always here",
    OptionKey.REPOSITORY: "This repository",
    OptionKey.EVERYWHERE: "Always anywhere",
    OptionKey.DENY: "Deny",
}
SERVER_LABEL = "Always allow this tool"

NOTES = {
    OptionKey.ONCE: "[approval: once]",
    OptionKey.SESSION: "[approval: this chat only]",
    OptionKey.ALWAYS: "[approval: always in this folder]",
    OptionKey.REPOSITORY: "[approval: always in this repo]",
    OptionKey.EVERYWHERE: "[approval: always anywhere]",
}
"""Appended to the result of a call that a person let run."""

ONCE_ONLY = (OptionKey.ONCE, OptionKey.DENY)


def parse_key(text: str) -> OptionKey | None:
    """The option of a key, assignment-bound or not; None for one that does not exist."""
    for key, bound in _ASSIGNMENT_KEYS.items():
        if text == bound:
            return key
    return OptionKey(text) if text in set(OptionKey) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What the options of one request depend on."""

    candidates: Sequence[Candidate]
    is_shell: bool
    is_server: bool = False
    is_once_only: bool = False
    surroundings: Surroundings | None = None
    places: Places | None = None
    owned: tuple[str, ...] = ()
    """Folders of the session itself: a lasting grant there would outlive what it is for."""


def options_of(offer: Offer) -> tuple[ConsentOption, ...]:
    """The options, `deny` last; nothing is offered that would not cover the call afterwards."""
    is_bound = any(candidate.assignments for candidate in offer.candidates)
    return tuple(_option(key, offer, is_bound=is_bound) for key in _keys(offer))


def _keys(offer: Offer) -> tuple[OptionKey, ...]:
    is_open = any(
        candidate.unresolved is not None or not candidate.phrase for candidate in offer.candidates
    )
    if offer.is_once_only or is_open or not offer.candidates:
        return ONCE_ONLY
    keys = [OptionKey.ONCE, OptionKey.SESSION]
    if offer.is_shell and folder_of(offer) is not None:
        keys.append(OptionKey.ALWAYS)
    if offer.is_shell and shared_repository(offer) is not None:
        keys.append(OptionKey.REPOSITORY)
    return (*keys, OptionKey.EVERYWHERE, OptionKey.DENY)


def _option(key: OptionKey, offer: Offer, *, is_bound: bool) -> ConsentOption:
    effect = ConsentEffect.REFUSE if key is OptionKey.DENY else ConsentEffect.APPROVE
    is_server_label = offer.is_server and key is OptionKey.EVERYWHERE
    return ConsentOption(
        key=_ASSIGNMENT_KEYS.get(key, key.value) if is_bound else key.value,
        label=SERVER_LABEL if is_server_label else _LABELS[key],
        effect=effect,
    )


def folder_of(offer: Offer) -> str | None:
    """The folder that "Always here" means; None where it is too wide, or the session's own."""
    surroundings, places = offer.surroundings, offer.places
    if surroundings is None or places is None:
        return None
    folder = surroundings.cwd
    is_shallow = folder.count("/") < 2 or is_below(surroundings.user_home, folder)
    if is_shallow or is_below_any(folder, offer.owned):
        return None
    is_whole = all(is_within(folder, candidate, places) for candidate in offer.candidates)
    return folder if is_whole else None


def shared_repository(offer: Offer) -> str | None:
    """The common directory of the one repository in which all candidates stay."""
    places = offer.places
    if places is None:
        return None
    found = {repository_of(candidate, places) for candidate in offer.candidates}
    return found.pop() if len(found) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What an answer adds to the consents. Refusing adds nothing."""

    one_time: OneTimeKey | None = None
    chat: tuple[ChatGrant, ...] = ()
    persistent: tuple[Grant, ...] = ()


def recorded(
    key: OptionKey, offer: Offer, *, audience: Audience, one_time: OneTimeKey, created_at: str
) -> Recorded:
    """What an offered option stores. Raises `ValueError` for one that was not offered."""
    if key not in _keys(offer):
        raise ValueError("the option was not offered")
    if key is OptionKey.DENY:
        return Recorded()
    if key is OptionKey.ONCE:
        return Recorded(one_time=one_time)
    tool = one_time.tool
    if key is OptionKey.SESSION:
        return Recorded(chat=tuple(_chat_grant(item, audience, tool) for item in offer.candidates))
    form = GrantForm.TOKENS if offer.is_shell else GrantForm.TOOL
    directory = folder_of(offer) if key is OptionKey.ALWAYS else None
    repository = shared_repository(offer) if key is OptionKey.REPOSITORY else None
    made = (
        Grant(
            audience=audience,
            tool=tool,
            form=form,
            words=candidate.phrase,
            created_at=created_at,
            directory=directory,
            repository=repository,
            worktree=_worktree(offer, candidate) if repository is not None else None,
            digest=candidate.digest,
        )
        for candidate in offer.candidates
    )
    return Recorded(persistent=tuple(dict.fromkeys(made)))


def _chat_grant(candidate: Candidate, audience: Audience, tool: str) -> ChatGrant:
    return ChatGrant(audience=audience, tool=tool, words=candidate.phrase, digest=candidate.digest)


def _worktree(offer: Offer, candidate: Candidate) -> str | None:
    places = offer.places
    repository = places.repositories.get(candidate.cwds[0]) if places is not None else None
    return repository.worktree if repository is not None else None
