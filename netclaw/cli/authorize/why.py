"""Says in words why a decision is what it is: the rule, the path, what covers each command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netclaw.core.authz import safe_catalogue
from netclaw.core.authz.consent_modes import UnknownModeError, mode_of
from netclaw.core.authz.decide import question_of
from netclaw.core.authz.deny_rules import denial
from netclaw.core.authz.facts import Candidate, Unresolved, WordFix
from netclaw.core.authz.grants import Grant, GrantScope, covers
from netclaw.core.authz.path_access import decide as decide_path
from netclaw.core.authz.profiles import reach_of
from netclaw.core.authz.reasons import Coverage, DenyReason
from netclaw.core.authz.requests import FileCall, ShellCall
from netclaw.core.session.rulings import Outcome

if TYPE_CHECKING:
    from netclaw.core.authz.decisions import CoveredCandidate, Decision
    from netclaw.tools.authorization.authorizer import Evaluation

_UNRESOLVED = {
    Unresolved.SYNTAX: "its syntax is not one that is proved",
    Unresolved.DYNAMIC_PROGRAM: "which program it runs is not known before",
    Unresolved.DYNAMIC_WORD: "a word of it is not known before",
    Unresolved.BUILTIN: "it runs text, or changes what later words mean",
    Unresolved.DIRECTORY: "the folder it would run in is not known before",
    Unresolved.GLOB: "a pattern of it could lead anywhere",
    Unresolved.LINK: "a path of it cannot be followed",
    Unresolved.ASSIGNMENT: "it changes the environment of what it runs",
    Unresolved.INPUT: "it runs what it reads",
    Unresolved.WORD_SHAPE: "a word of it cannot be stored as it is",
}
_FIXES = {
    WordFix.PATH_GLOB: "its pattern could become an option; written as ./PATTERN it cannot",
    WordFix.FULL_PROGRAM_PATH: "its program has to be named by its full path",
}
NEVER_OPENED = (
    "File tools open no place of credentials, no other session's files and nothing of the kernel's."
)
_HARD = "hard_deny_"
_PATH_REASONS = frozenset(
    {
        DenyReason.SHELL_PROTECTED_PATH,
        DenyReason.SHELL_PATH_OUTSIDE,
        DenyReason.SHELL_DIRECTORY_OUTSIDE,
    }
)


def mode_line(found: Evaluation) -> str:
    """The consent mode that applies; empty where the pipeline never came to it."""
    try:
        return mode_of(found.policy.profile, question_of(found.request, found.policy)).value
    except UnknownModeError:
        return "unknown"


def rule_lines(found: Evaluation) -> Iterator[str]:
    """What exactly denies the call, beyond the sentence of its code."""
    deny, call = found.decision.deny, found.request.call
    if deny is DenyReason.STORE_UNAVAILABLE and found.consents.store.fault:
        yield f"The grants file: {found.consents.store.fault}."
    if isinstance(call, FileCall) and deny is not None:
        yield f"{call.fact.canonical} ({call.operation.value}){_leads(call)}"
    if not isinstance(call, ShellCall) or deny is None:
        return
    if call.refusal is not None:
        yield call.refusal.sentence
    elif call.facts is not None and deny.value.startswith(_HARD):
        rule = denial(call.facts, found.policy.deny_rules, call.surroundings)
        if rule is not None and not _is_said(rule.reason, found.decision.text):
            yield f"Deny rule: {rule.reason}"
    elif deny in _PATH_REASONS:
        yield from _refused_paths(found, call)


def _leads(call: FileCall) -> str:
    """Where a path leads, if that is elsewhere."""
    fact = call.fact
    if fact.resolved is None:
        return " cannot be followed"
    return f" leads to {fact.resolved}" if fact.resolved != fact.canonical else ""


def _is_said(reason: str, sentence: str) -> bool:
    """Whether the reason of a rule is what the sentence of its category says already."""
    return reason.partition(" ")[2] == sentence.removeprefix("The command ")


def _refused_paths(found: Evaluation, call: ShellCall) -> Iterator[str]:
    """The paths that are named or run in and may not be."""
    policy, facts = found.policy, call.facts
    uses = [use for item in facts.candidates for use in item.paths] if facts is not None else []
    told = set()
    for use in uses:
        reach = reach_of(policy.profile, use.operation, policy.roots)
        why = decide_path(use.fact, use.operation, reach, policy.protected)
        if not why.is_allowed and use.path not in told:
            told.add(use.path)
            yield f"{use.path} ({use.operation.value}): {why.detail}"


def cover_line(found: Evaluation, item: CoveredCandidate) -> str:
    """Why a candidate may run, or what keeps it from that."""
    candidate = item.candidate
    match item.coverage:
        case Coverage.PERSISTENT_GRANT:
            return _granted(found, candidate)
        case Coverage.REVIEWED_SAFE:
            phrase = safe_catalogue.find(candidate.argv, found.policy.safe)
            words = f" ({' '.join(phrase.words)})" if phrase is not None else ""
            return f"reviewed as safe{words}"
        case Coverage.EXEMPT:
            return "only prints"
        case Coverage.CHAT_GRANT:
            return "granted in this chat"
        case Coverage.ONE_TIME:
            return "approved once"
    if candidate.fix is not None:
        return _FIXES[candidate.fix]
    if candidate.unresolved is not None:
        return f"only once: {_UNRESOLVED[candidate.unresolved]}"
    return "no grant for these words"


def _granted(found: Evaluation, candidate: Candidate) -> str:
    request, call = found.request, found.request.call
    if isinstance(call, ShellCall):
        for grant in found.consents.store.grants:
            if covers([grant], request.audience, request.grant_tool, candidate, call.places):
                return f"granted {where(grant)}, {grant.created_at}"
    return "granted"


def where(grant: Grant) -> str:
    """Where a grant applies."""
    match grant.scope:
        case GrantScope.REPOSITORY:
            return f"in the repository {grant.repository}"
        case GrantScope.FOLDER:
            return f"in {grant.directory}"
    return "anywhere"


def summary(decision: Decision) -> str:
    """The decision in one sentence."""
    match decision.outcome:
        case Outcome.ALLOWED:
            return _ALLOWED.get(decision.code, "It runs without asking.")
        case Outcome.REQUIRES_CONSENT:
            return "Somebody is asked before it runs."
    return _UNATTENDED if decision.deny is DenyReason.UNATTENDED else decision.text


_UNATTENDED = (
    "It needs consent, and nobody is there to give it. An `Always` grant from a chat of the same"
    " audience, or `netclaw approvals trust-verb`, lets it run."
)


_ALLOWED = {
    "OneTimeConsent": "It runs: it was approved once.",
    "StoredApproval": "It runs without asking: stored consent covers it.",
    "ReviewedSafePolicy": "It runs without asking: it is reviewed as safe.",
    "ApprovalExemptShellCandidates": "It runs without asking: it only prints.",
    "PolicyAuto": "It runs without asking: the consent mode of the tool is Auto.",
}
