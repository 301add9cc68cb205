"""Who is behind an input, by its authority: told once, where the input comes in."""

from __future__ import annotations

from netclaw.core.authority import Authority, SourceKind
from netclaw.core.signals.events import SYSTEM, Actor, ActorType


def classify(authority: Authority) -> Actor:
    """The actor of an input: an agent's session, netclaw itself, or a person.

    What another session sent is the agent's, whoever that session works for.
    """
    requester, source = authority.requester, authority.provenance.source_kind
    if source is SourceKind.SESSION:
        return Actor(type=ActorType.AGENT, id=requester.sender_id or requester.session_id)
    if authority.is_of_person:
        return Actor(type=ActorType.HUMAN, id=requester.sender_id or "")
    return SYSTEM


def person_of(authority: Authority) -> str | None:
    """The id of the person who wrote an input, empty if not known; None if no person did."""
    actor = classify(authority)
    return actor.id if actor.type is ActorType.HUMAN else None
