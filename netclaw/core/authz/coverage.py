"""Finds what covers each candidate of a call: the first of the five that applies (reference 1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from netclaw.core.authz import safe_catalogue
from netclaw.core.authz.decisions import CoveredCandidate
from netclaw.core.authz.facts import Candidate, Needs
from netclaw.core.authz.grants import Grant, Places, chat_covers, covers
from netclaw.core.authz.path_access import decide as decide_path
from netclaw.core.authz.profiles import reach_of
from netclaw.core.authz.protected import DEFAULT_NAME, names_of
from netclaw.core.authz.reasons import AllowReason, Coverage
from netclaw.core.authz.requests import AuthorizationRequest, Consents, Policy, ShellCall
from netclaw.core.authz.safe_catalogue import SafePhrase
from netclaw.core.path_rules import is_below
from netclaw.core.settings import ShellMode
from netclaw.core.tool_call import FileOperation

GRANTED = frozenset({Coverage.ONE_TIME, Coverage.CHAT_GRANT, Coverage.PERSISTENT_GRANT})


class StoreUnavailableError(Exception):
    """A candidate needs the persistent grants, and they cannot be read."""


def cover(
    request: AuthorizationRequest,
    candidates: Sequence[Candidate],
    policy: Policy,
    consents: Consents,
) -> tuple[CoveredCandidate, ...]:
    """Each candidate with its coverage. Raises `StoreUnavailableError`."""
    return tuple(_cover(request, candidate, policy, consents) for candidate in candidates)


def _cover(
    request: AuthorizationRequest, candidate: Candidate, policy: Policy, consents: Consents
) -> CoveredCandidate:
    safe = _safe(request, candidate, policy)
    coverage = _coverage(request, candidate, safe, consents)
    is_open = coverage is Coverage.REVIEWED_SAFE and safe is not None and safe.has_network
    return CoveredCandidate(
        candidate=candidate, coverage=coverage, has_network=is_open or coverage in GRANTED
    )


def _coverage(
    request: AuthorizationRequest,
    candidate: Candidate,
    safe: SafePhrase | None,
    consents: Consents,
) -> Coverage:
    if request.key in consents.one_time:
        return Coverage.ONE_TIME
    if candidate.unresolved is not None or candidate.fix is not None:
        return Coverage.NONE  # decision 35: no grant and no safe phrase ever covers it
    tool = request.grant_tool
    if chat_covers(consents.chat, request.audience, tool, candidate):
        return Coverage.CHAT_GRANT
    store = consents.store
    if store.fault is None:
        places = _places(request)
        if covers(store.grants, request.audience, tool, candidate, places):
            return Coverage.PERSISTENT_GRANT
    if safe is not None:
        return Coverage.REVIEWED_SAFE
    if store.fault is not None:
        raise StoreUnavailableError
    return Coverage.EXEMPT if candidate.is_exempt else Coverage.NONE


def _places(request: AuthorizationRequest) -> Places:
    call = request.call
    return call.places if isinstance(call, ShellCall) else Places(paths={}, repositories={})


def _safe(request: AuthorizationRequest, candidate: Candidate, policy: Policy) -> SafePhrase | None:
    """The reviewed-safe phrase that applies: every path readable, and nothing beside the words."""
    is_bare = not (candidate.assignments or candidate.has_redirect or candidate.is_exempt)
    found = safe_catalogue.find(candidate.argv, policy.safe) if is_bare else None
    if found is None or candidate.unresolved is not None:
        return None
    if found.reads_trees and _may_print_a_home(request, candidate, policy):
        return None
    reach = reach_of(policy.profile, FileOperation.READ, policy.roots)
    are_readable = all(
        decide_path(use.fact, FileOperation.READ, reach, policy.protected).is_allowed
        for use in candidate.paths
    )
    return found if are_readable else None


def _may_print_a_home(request: AuthorizationRequest, candidate: Candidate, policy: Policy) -> bool:
    """Whether a folder that it may read whole holds a netclaw home, and no sandbox hides that."""
    if policy.shell_mode is not ShellMode.HOST_ALLOWED:
        return False
    known = _places(request).paths
    folders = [*(use.fact for use in candidate.paths), *(known[cwd] for cwd in candidate.cwds)]
    protected = policy.protected
    homes = [names_of(home) for home in (*protected.homes, f"{protected.user_home}/{DEFAULT_NAME}")]
    return any(
        is_below(home, names_of(path))
        for fact in folders
        for path in (fact.canonical, fact.resolved or "/")
        for home in homes
    )


def reason_of(covered: Iterable[CoveredCandidate]) -> AllowReason:
    """The reason of a call all of whose candidates are covered: the strongest consent counts."""
    kinds = {item.coverage for item in covered}
    if Coverage.ONE_TIME in kinds:
        return AllowReason.ONE_TIME_CONSENT
    if not kinds.isdisjoint(GRANTED):
        return AllowReason.STORED_APPROVAL
    if Coverage.REVIEWED_SAFE in kinds:
        return AllowReason.REVIEWED_SAFE
    return AllowReason.EXEMPT


def needs_of_grants(directories: Iterable[str], grants: Iterable[Grant], known: Places) -> Needs:
    """What has to be looked up before grants can be compared and options offered."""
    folders = {grant.directory for grant in grants if grant.directory is not None}
    wanted = frozenset(directories)
    return Needs(
        paths=frozenset({*folders, *wanted} - set(known.paths)),
        repositories=frozenset(wanted - set(known.repositories)),
    )
