"""The last steps of a decision: coverage of each candidate, correction, consent, denial."""

from __future__ import annotations

from collections.abc import Sequence

from netclaw.core.authz.coverage import cover, reason_of
from netclaw.core.authz.decisions import CoveredCandidate, Decision
from netclaw.core.authz.facts import Candidate, PathFact
from netclaw.core.authz.options import Offer, options_of
from netclaw.core.authz.reasons import Coverage, DenyReason, RemediationCode
from netclaw.core.authz.requests import (
    AuthorizationRequest,
    Consents,
    FileCall,
    Policy,
    ServerCall,
    ShellCall,
)
from netclaw.core.authz.startup_places import is_startup_call
from netclaw.core.path_rules import is_below_any
from netclaw.core.session.rulings import Outcome
from netclaw.core.tool_call import FileOperation

MAX_DISPLAY_CHARS = 3000
"""A longer command cannot be shown whole, and nobody consents to what they cannot see."""


def decide(request: AuthorizationRequest, policy: Policy, consents: Consents) -> Decision:
    """Steps 8 to 10. Raises `StoreUnavailableError`."""
    candidates = candidates_of(request, policy)
    covered = cover(request, candidates, policy, consents)
    if not candidates and request.key in consents.one_time:
        covered = (CoveredCandidate(candidate=_whole(request), coverage=Coverage.ONE_TIME),)
    uncovered = [item.candidate for item in covered if item.coverage is Coverage.NONE]
    if covered and not uncovered:
        return Decision(
            attempt_id=request.attempt_id,
            outcome=Outcome.ALLOWED,
            allow=reason_of(covered),
            candidates=covered,
            has_network=any(item.has_network for item in covered),
        )
    correction = _correction(request, uncovered, policy)
    if correction is not None:
        return Decision(
            attempt_id=request.attempt_id,
            outcome=Outcome.REQUIRES_CORRECTION,
            corrections=(correction,),
            candidates=covered,
        )
    if not _can_ask(request):
        return Decision(
            attempt_id=request.attempt_id,
            outcome=Outcome.DENIED,
            deny=DenyReason.UNATTENDED,
            candidates=covered,
        )
    return Decision(
        attempt_id=request.attempt_id,
        outcome=Outcome.REQUIRES_CONSENT,
        options=options_of(offer_of(request, uncovered, policy)),
        candidates=covered,
        display=display_of(request),
    )


def candidates_of(request: AuthorizationRequest, policy: Policy) -> tuple[Candidate, ...]:
    """What needs coverage: each command of a shell call, else the tool itself."""
    call = request.call
    if isinstance(call, ShellCall):
        return call.facts.candidates if call.facts is not None else ()
    if isinstance(call, FileCall) and is_startup_call(call, policy):
        # By its path alone, so that no grant for the tool covers it and none is offered.
        return (Candidate(text=f"{request.grant_tool} {_told(call.fact)}"),)
    return (Candidate(text=request.grant_tool, phrase=(request.grant_tool,)),)


def _told(fact: PathFact) -> str:
    """A path with where it leads: consent is for that place, and for no other it leads to later."""
    is_straight = fact.resolved in (None, fact.canonical)
    return fact.canonical if is_straight else f"{fact.canonical} -> {fact.resolved}"


def _whole(request: AuthorizationRequest) -> Candidate:
    return Candidate(text=display_of(request))


def display_of(request: AuthorizationRequest) -> str:
    """What a person is shown: the command as it is, or the tool with its arguments."""
    if isinstance(request.call, ShellCall):
        return request.call.command
    return f"{request.grant_tool} {request.arguments}"


def offer_of(
    request: AuthorizationRequest, uncovered: Sequence[Candidate], policy: Policy
) -> Offer:
    """What the options of a consent request depend on."""
    call = request.call
    if not isinstance(call, ShellCall):
        return Offer(candidates=uncovered, is_shell=False, is_server=isinstance(call, ServerCall))
    return Offer(
        candidates=uncovered,
        is_shell=True,
        is_once_only=call.is_temporary_retry,
        surroundings=call.surroundings,
        places=call.places,
        owned=tuple(root.canonical for root in policy.roots.own),
    )


def _correction(
    request: AuthorizationRequest, uncovered: Sequence[Candidate], policy: Policy
) -> RemediationCode | None:
    """A correction that the model can make, and that removes the cause; None if there is none."""
    call = request.call
    if isinstance(call, ShellCall) and call.refusal is None:
        fixable = [candidate for candidate in uncovered if candidate.fix is not None]
        stuck = [
            candidate
            for candidate in uncovered
            if candidate.unresolved is not None and candidate.fix is None
        ]
        if fixable and not stuck:
            return RemediationCode.REWRITE_SHELL_COMMAND_WORDS
        is_advised = call.is_temporary_retry or stuck
        if not is_advised and _is_temporary(uncovered, call.surroundings.cwd, policy):
            return RemediationCode.USE_MANAGED_TEMPORARY_DIRECTORY
        if len(display_of(request)) > MAX_DISPLAY_CHARS:
            return RemediationCode.SHORTEN_SHELL_COMMAND
    return None


def _is_temporary(candidates: Sequence[Candidate], cwd: str, policy: Policy) -> bool:
    """Whether a command writes to a shared temporary folder instead of the run's own."""
    own = (cwd, *(root.canonical for root in policy.roots.own))
    return any(
        use.operation is FileOperation.WRITE
        and is_below_any(use.fact.canonical, policy.temporary)
        and not is_below_any(use.fact.canonical, own)
        for candidate in candidates
        for use in candidate.paths
    )


def _can_ask(request: AuthorizationRequest) -> bool:
    """Whether somebody can answer: nobody is invented where no message came from a person."""
    return request.is_attended and request.requester is not None
