"""Consents that are kept, as the operator's service and `netclaw approvals` show them."""

from __future__ import annotations

from netclaw.core.authz.grants import ChatGrant, Grant, GrantForm, GrantScope
from netclaw.core.ids import SessionId
from netclaw.wire.v1 import admin_pb2 as pb


def grant_row(grant: Grant) -> pb.GrantRow:
    """A stored grant."""
    is_shell = grant.form is not GrantForm.TOOL
    return pb.GrantRow(
        audience=grant.audience.value,
        tool=grant.tool,
        label=grant.label,
        scope=grant.scope.value,
        directory=grant.directory or "",
        repository=grant.repository or "",
        created_at=grant.created_at,
        shell=grant.shell_name if is_shell else "",
        assignment_bound=grant.digest is not None,
        words=grant.words,
    )


def chat_row(session_id: SessionId, grant: ChatGrant) -> pb.GrantRow:
    """A consent for one chat."""
    return pb.GrantRow(
        audience=grant.audience.value,
        tool=grant.tool,
        label=grant.label,
        scope=GrantScope.CHAT.value,
        session_id=session_id,
        assignment_bound=grant.digest is not None,
        words=grant.words,
    )
