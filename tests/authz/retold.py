"""Requests whose facts are told anew: of another host, or changed."""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.authz.facts import Candidate, ShellFacts
from netclaw.core.authz.requests import AuthorizationRequest, ShellCall
from tests.authz.host import MemoryHost
from tests.authz.world import Shell


def on_host(command: str, host: MemoryHost) -> AuthorizationRequest:
    """The request of one command as another host answers its paths."""
    request = Shell(command).request()
    (candidate,) = facts_of(request).candidates
    uses = tuple(replace(use, fact=host.path(use.path)) for use in candidate.paths)
    return with_candidates(request, replace(candidate, paths=uses))


def with_candidates(request: AuthorizationRequest, *candidates: Candidate) -> AuthorizationRequest:
    """A request of the same command with other facts."""
    call = shell_call(request)
    facts = replace(facts_of(request), candidates=candidates)
    return replace(request, call=replace(call, facts=facts))


def shell_call(request: AuthorizationRequest) -> ShellCall:
    """The call of a shell request."""
    assert isinstance(request.call, ShellCall)
    return request.call


def facts_of(request: AuthorizationRequest) -> ShellFacts:
    """What is known of its command."""
    facts = shell_call(request).facts
    assert facts is not None
    return facts
