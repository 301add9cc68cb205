"""Who acted, by an input's authority."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Authority, Principal, SourceKind
from netclaw.core.signals import actors
from netclaw.core.signals.events import SYSTEM, Actor, ActorType
from netclaw.testing.people import ALICE, OPERATOR, REMINDER, STRANGER, WEBHOOK, authority
from tests.core.signals.people import D, agent

PEOPLE = {SourceKind.CLI, SourceKind.SLACK, SourceKind.DISCORD, SourceKind.MATTERMOST}


@pytest.mark.requirement("signals.actors")
@pytest.mark.parametrize(
    ("by", "sender"), [(OPERATOR, "operator"), (ALICE, "U1"), (STRANGER, "U9")]
)
def test_a_person_is_known_by_the_senders_id(by: Authority, sender: str) -> None:
    assert actors.classify(by) == Actor(type=ActorType.HUMAN, id=sender)
    assert actors.person_of(by) == sender


@pytest.mark.requirement("signals.actors")
def test_a_person_without_an_id_is_a_person() -> None:
    by = authority(None, Principal.OPERATOR)
    assert actors.classify(by) == Actor(type=ActorType.HUMAN)
    assert actors.person_of(by) == ""


@pytest.mark.requirement("signals.actors")
@pytest.mark.requirement("signals.sessions-are-no-people")
@pytest.mark.parametrize("principal", Principal)
def test_what_another_session_sends_is_that_sessions(principal: Principal) -> None:
    by = authority(D, principal, source=SourceKind.SESSION)
    assert actors.classify(by) == agent(D)
    assert actors.person_of(by) is None
    nameless = replace(by, requester=replace(by.requester, sender_id=None))
    assert actors.classify(nameless) == agent(by.requester.session_id)


@pytest.mark.requirement("signals.actors")
@pytest.mark.parametrize("by", [REMINDER, WEBHOOK])
def test_a_machine_is_the_system(by: Authority) -> None:
    assert actors.classify(by) == SYSTEM
    assert actors.person_of(by) is None


@pytest.mark.requirement("signals.actors")
@pytest.mark.requirement("signals.sessions-are-no-people")
@pytest.mark.parametrize("source", SourceKind)
@pytest.mark.parametrize("principal", Principal)
def test_a_person_is_one_by_principal_and_by_the_place(
    source: SourceKind, principal: Principal
) -> None:
    by = authority("U1", principal, source=source)
    assert by.is_of_person == (principal.is_person and source in PEOPLE)
    assert (actors.person_of(by) is not None) == by.is_of_person


def test_the_same_sender_is_the_same_person_or_machine() -> None:
    sent = replace(
        OPERATOR, provenance=authority(D, Principal.OPERATOR, source=SourceKind.SESSION).provenance
    )
    assert sent.requester == OPERATOR.requester
    assert not sent.is_same_sender(OPERATOR)
    assert OPERATOR.is_same_sender(replace(OPERATOR, adopted_context=("x",)))
    assert not OPERATOR.is_same_sender(ALICE)
