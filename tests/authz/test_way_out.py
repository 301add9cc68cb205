"""What a denial tells the operator to do, and that nobody else is told."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.decide import decide
from netclaw.core.authz.requests import Consents, FileCall
from netclaw.core.tool_call import FileOperation
from tests.authz.test_decide import request
from tests.authz.world import HOST, policy, profile

PERSONAL, TEAM = Audience.PERSONAL, Audience.TEAM
NO_CONSENTS = Consents()
SHOWN = 160
"""What a terminal surely shows of a result."""


@pytest.mark.requirement("authz.project-way-out")
@pytest.mark.parametrize("audience", [PERSONAL, TEAM])
def test_a_refused_project_tells_the_operator_alone_what_to_set(audience: Audience) -> None:
    call = FileCall(operation=FileOperation.DECLARE_PROJECT_SCOPE, fact=HOST.path("/etc"))
    asked = request("set_working_directory", call, audience)
    decision = decide(asked, policy(profile(audience)), NO_CONSENTS)
    assert decision.code == "outside_roots"
    way_out = "`netclaw config set Workspaces.Directory FOLDER`"
    assert (way_out in decision.text[:SHOWN]) is (audience is PERSONAL)


@pytest.mark.requirement("authz.project-way-out")
def test_other_refusals_have_no_way_out() -> None:
    outside = FileCall(operation=FileOperation.WRITE, fact=HOST.path("/etc/x"))
    decision = decide(request("file_write", outside, TEAM), policy(profile(TEAM)), NO_CONSENTS)
    assert (decision.code, decision.way_out) == ("outside_roots", "")
