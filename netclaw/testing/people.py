"""Authorities of the usual people and machines, for stories."""

from __future__ import annotations

from netclaw.core.authority import (
    Audience,
    Authenticity,
    Authority,
    DeliveryTarget,
    Principal,
    Provenance,
    Requester,
    SourceKind,
)
from netclaw.core.ids import SessionId

SESSION = SessionId("cli/abcdefghij")


def authority(
    sender: str | None,
    principal: Principal,
    *,
    source: SourceKind = SourceKind.CLI,
    boundary: str = "local",
    targets: tuple[DeliveryTarget, ...] = (),
    session_id: SessionId = SESSION,
    audience: Audience = Audience.PERSONAL,
) -> Authority:
    """An authority with plausible values for whatever a story does not care about."""
    is_local = source in (SourceKind.CLI, SourceKind.REMINDER)
    return Authority(
        requester=Requester(
            session_id=session_id,
            audience=audience,
            boundary=boundary,
            channel_type=source,
            sender_id=sender,
            principal=principal,
        ),
        provenance=Provenance(
            source_kind=source,
            authenticity=Authenticity.LOCAL_PROCESS if is_local else Authenticity.VERIFIED,
        ),
        delivery_targets=targets,
    )


THREAD = DeliveryTarget(channel=SourceKind.SLACK, address="C1/17.1")
OTHER_THREAD = DeliveryTarget(channel=SourceKind.SLACK, address="C1/17.2")

OPERATOR = authority("operator", Principal.OPERATOR)
ALICE = authority(
    "U1", Principal.TRUSTED, source=SourceKind.SLACK, boundary="slack:T1/C1", targets=(THREAD,)
)
BOB = authority(
    "U2", Principal.TRUSTED, source=SourceKind.SLACK, boundary="slack:T1/C1", targets=(THREAD,)
)
STRANGER = authority("U9", Principal.UNTRUSTED, source=SourceKind.SLACK, boundary="slack:T1/C1")
REMINDER = authority(None, Principal.AUTOMATION, source=SourceKind.REMINDER, boundary="reminder:r1")
WEBHOOK = authority(None, Principal.AUTOMATION, source=SourceKind.WEBHOOK, boundary="webhook:w1")
WAKE = authority(None, Principal.AUTOMATION, source=SourceKind.SIGNAL, boundary="signal")
"""A watched session changed."""
OTHER_SESSION = authority("cli/other", Principal.AUTOMATION, source=SourceKind.SESSION)
"""Another session's model sent something."""
