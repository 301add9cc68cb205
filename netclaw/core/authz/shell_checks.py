"""The boundaries of a shell call: text, deny rules, protected places, directories, paths."""

from __future__ import annotations

from netclaw.core.authz.deny_rules import denial
from netclaw.core.authz.facts import PathFact, ShellFacts
from netclaw.core.authz.path_access import PathFailure
from netclaw.core.authz.path_access import decide as decide_path
from netclaw.core.authz.profiles import reach_of
from netclaw.core.authz.reasons import DenyReason
from netclaw.core.authz.requests import Policy, ShellCall
from netclaw.core.authz.text_gate import TextFault
from netclaw.core.tool_call import FileOperation

_JUDGED_LATER = frozenset({TextFault.EMPTY, TextFault.TOO_LONG})
"""Refusals that lead to a request or a correction, not to a denial."""


def refusal(call: ShellCall, policy: Policy) -> DenyReason | None:
    """Why no consent lets the command run; None if none of this stands in its way."""
    if call.refusal is not None:
        is_later = call.refusal.fault in _JUDGED_LATER
        return None if is_later else DenyReason.SHELL_TEXT_REFUSED
    facts = call.facts
    if facts is None:
        return DenyReason.INTERNAL
    rule = denial(facts, policy.deny_rules, call.surroundings)
    if rule is not None:
        return DenyReason(f"hard_deny_{rule.category.value}")
    is_unbounded = facts.has_too_many_values
    if is_unbounded or policy.protected.is_command_protected(facts, call.paths):
        return DenyReason.SHELL_PROTECTED_PATH
    return _outside(call, facts, policy)


def _outside(call: ShellCall, facts: ShellFacts, policy: Policy) -> DenyReason | None:
    if ".." in call.directory_argument.split("/"):
        return DenyReason.SHELL_INVALID_DIRECTORY
    for directory in facts.directories:
        if not _is_within(call.paths[directory], FileOperation.WRITE, policy):
            return DenyReason.SHELL_DIRECTORY_OUTSIDE
    for candidate in facts.candidates:
        for use in candidate.paths:
            if not _is_within(use.fact, use.operation, policy):
                return DenyReason.SHELL_PATH_OUTSIDE
    return None


def _is_within(fact: PathFact, operation: FileOperation, policy: Policy) -> bool:
    """Whether mode and roots let a path pass.

    Protection was judged before; a path that is not proved needs consent, and is held by the
    sandbox.
    """
    reach = reach_of(policy.profile, operation, policy.roots)
    failure = decide_path(fact, operation, reach, policy.protected).failure
    is_bounded = failure in (PathFailure.MODE_NONE, PathFailure.OUTSIDE_ROOTS)
    return not is_bounded and failure not in (PathFailure.LINK_BOUNDARY, PathFailure.WRONG_FILE)
