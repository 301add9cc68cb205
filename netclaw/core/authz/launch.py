"""Judges a call once more in the moment it is to start (reference 1, step 12).

Between consent and start a link can be swapped and a grant revoked. So everything is decided
anew, with facts that were looked up anew, and the places that paths lead to have to be the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from netclaw.core.authz.decide import decide, denied
from netclaw.core.authz.decisions import Decision
from netclaw.core.authz.facts import PathFact
from netclaw.core.authz.reasons import DenyReason
from netclaw.core.authz.requests import AuthorizationRequest, Consents, Policy, ShellCall
from netclaw.core.session.rulings import Outcome


def recheck(
    judged: AuthorizationRequest, now: AuthorizationRequest, policy: Policy, consents: Consents
) -> Decision:
    """The decision that counts: `now` is the same call with facts of this moment.

    The caller starts an allowed call without waiting for anything in between. A call that would
    need consent now because its paths lead elsewhere is told that, not that consent is missing.
    """
    decision = decide(now, policy, consents)
    if decision.outcome is not Outcome.DENIED and targets(judged) != targets(now):
        return denied(now, DenyReason.SHELL_PATHS_CHANGED)
    return decision


def targets(request: AuthorizationRequest) -> frozenset[tuple[str, str | None]]:
    """Where each known path and folder of a shell call leads; empty for any other call.

    A plain entry of a folder of the command leads to itself. It is left out: such a word counts as
    a path only while something is there, and a call beside this one may make or remove it.
    """
    call = request.call
    if not isinstance(call, ShellCall) or call.facts is None:
        return frozenset()
    folders = {folder: call.paths[folder].resolved for folder in call.facts.directories}
    uses = (use for candidate in call.facts.candidates for use in candidate.paths)
    led = ((use.path, use.fact.resolved) for use in uses if not _is_own(use.fact, folders))
    return frozenset([*led, *folders.items()])


def _is_own(fact: PathFact, folders: Mapping[str, str | None]) -> bool:
    """Whether what a path names is directly in one of these folders, and no link."""
    folder, _, name = fact.canonical.rpartition("/")
    real = folders.get(folder)
    return real is not None and fact.resolved == f"{real.rstrip('/')}/{name}"
