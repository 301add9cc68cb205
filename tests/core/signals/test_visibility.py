"""Which sessions a turn may see."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Audience
from netclaw.core.ids import SessionId
from netclaw.core.signals.visibility import Party, Visibility, default_for, may_see
from tests.core.signals.people import C, D, P

GRANDCHILD = SessionId(f"{C}/sub/run2")
PERSONAL, TEAM, PUBLIC = Audience.PERSONAL, Audience.TEAM, Audience.PUBLIC


def party(session_id: SessionId, audience: Audience = TEAM, agent: str = "") -> Party:
    return Party(session_id=session_id, audience=audience, agent=agent)


@pytest.mark.requirement("signals.visibility")
@pytest.mark.parametrize("visibility", Visibility)
@pytest.mark.parametrize("audience", Audience)
def test_a_session_always_sees_itself(visibility: Visibility, audience: Audience) -> None:
    assert may_see(party(P, PUBLIC), party(P, audience), visibility)


@pytest.mark.requirement("signals.visibility")
@pytest.mark.parametrize(
    ("visibility", "seen"),
    [
        (Visibility.SELF, {C}),
        (Visibility.TREE, {C, GRANDCHILD}),
        (Visibility.AGENT, {C, GRANDCHILD, SessionId("other/sub/worker")}),
        (Visibility.ALL, {C, GRANDCHILD, SessionId("other/sub/worker"), P, D}),
    ],
)
def test_each_step_sees_further(visibility: Visibility, seen: set[SessionId]) -> None:
    others = [
        party(P),
        party(C, agent="worker"),
        party(GRANDCHILD, agent="reader"),
        party(SessionId("other/sub/worker"), agent="worker"),
        party(D),
    ]
    asking = party(C, agent="worker")
    assert {other.session_id for other in others if may_see(asking, other, visibility)} == seen


@pytest.mark.requirement("signals.visibility")
def test_a_like_name_is_no_run_of_it() -> None:
    assert not may_see(party(P), party(SessionId(f"{P}x/sub/run1")), Visibility.TREE)


@pytest.mark.requirement("signals.visibility")
@pytest.mark.parametrize("target", [C, D])
@pytest.mark.parametrize("visibility", [Visibility.TREE, Visibility.AGENT, Visibility.ALL])
def test_nothing_crosses_to_a_broader_audience(target: SessionId, visibility: Visibility) -> None:
    order = [PERSONAL, TEAM, PUBLIC]
    for asks, asking in enumerate(order):
        for has, audience in enumerate(order):
            is_seen = may_see(party(P, asking), party(target, audience), visibility)
            is_near = target == C or visibility is not Visibility.TREE
            assert is_seen == (is_near and has >= asks)


@pytest.mark.requirement("signals.visibility")
def test_a_run_sees_its_tree_and_a_conversation_all() -> None:
    assert default_for(C) is Visibility.TREE
    assert default_for(P) is Visibility.ALL
