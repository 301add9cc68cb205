"""The last judgement, in the moment a call is to start."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authz.decisions import Decision
from netclaw.core.authz.facts import PathFact, PathKind, PathUse
from netclaw.core.authz.launch import recheck
from netclaw.core.authz.requests import AuthorizationRequest, PlainCall, ShellCall
from netclaw.core.tool_call import FileOperation
from tests.authz.host import HOME, PROJECT
from tests.authz.table import described
from tests.authz.test_decide import NO_CONSENTS, request
from tests.authz.world import POLICY, Shell


@pytest.mark.requirement("authz.launch-recheck")
def test_a_target_that_moved_before_the_start_stops_the_call() -> None:
    def at(**facts: PathFact) -> Decision:
        asked = Shell("cat README.md").request()
        assert isinstance(asked.call, ShellCall)
        assert asked.call.facts is not None
        (candidate,) = asked.call.facts.candidates
        uses = tuple(replace(use, fact=facts.get("now", use.fact)) for use in candidate.paths)
        moved = replace(asked.call.facts, candidates=(replace(candidate, paths=uses),))
        later = replace(asked, call=replace(asked.call, facts=moved))
        return recheck(asked, later, POLICY, NO_CONSENTS)

    assert described(at()) == "safe"
    path = f"{PROJECT}/README.md"
    swapped = PathFact(canonical=path, resolved="/etc/passwd", is_link=True)
    assert described(at(now=swapped)) == "deny shell_launch_paths_changed"
    keys = PathFact(canonical=path, resolved=f"{HOME}/keys/x", is_link=True)
    assert described(at(now=keys)) == "deny shell_references_protected_path"


@pytest.mark.requirement("authz.launch-appeared")
def test_a_file_that_another_call_made_or_removed_is_nowhere_else() -> None:
    asked = Shell("make out").request()
    call = asked.call
    assert isinstance(call, ShellCall)
    known = call.facts
    assert known is not None
    (candidate,) = known.candidates
    assert not candidate.paths, "nothing of this name is there"
    path = f"{PROJECT}/out"

    def with_out(resolved: str, *, is_link: bool = False) -> AuthorizationRequest:
        fact = PathFact(canonical=path, resolved=resolved, kind=PathKind.FILE, is_link=is_link)
        use = PathUse(path=path, operation=FileOperation.WRITE, fact=fact)
        facts = replace(known, candidates=(replace(candidate, paths=(use,)),))
        return replace(asked, call=replace(call, facts=facts))

    there = with_out(path)
    assert described(recheck(asked, there, POLICY, NO_CONSENTS)) == "ask make out"
    assert described(recheck(there, asked, POLICY, NO_CONSENTS)) == "ask make out"
    link = with_out(f"{PROJECT}/other", is_link=True)
    for first, second in ((asked, link), (link, asked), (there, link), (link, there)):
        assert described(recheck(first, second, POLICY, NO_CONSENTS)) == (
            "deny shell_launch_paths_changed"
        )


@pytest.mark.requirement("authz.launch-recheck")
def test_a_consent_that_was_revoked_before_the_start_stops_the_call() -> None:
    asked = Shell("git push").request()
    assert described(recheck(asked, asked, POLICY, NO_CONSENTS)) == "ask git push"
    assert isinstance(asked.call, ShellCall)
    folder = asked.call.surroundings.cwd
    elsewhere = replace(asked.call.paths[folder], resolved="/etc")
    moved = replace(asked.call, paths={**asked.call.paths, folder: elsewhere})
    later = replace(asked, call=moved)
    assert described(recheck(asked, later, POLICY, NO_CONSENTS)) == (
        "deny shell_launch_paths_changed"
    )
    plain = request("session_status", PlainCall())
    assert described(recheck(plain, plain, POLICY, NO_CONSENTS)) == "PolicyAuto"
