"""The part of the operator's service about grants: list, revoke, trust a phrase."""

from __future__ import annotations

from datetime import UTC, datetime

from netclaw.core.authority import Audience
from netclaw.core.authz.revoking import GrantChoice
from netclaw.core.authz.trust import grant_of_phrase
from netclaw.core.errors import InvalidArgumentError, NotFoundError
from netclaw.core.ids import parse_session_id
from netclaw.supervisor.callers import Caller, parse_audience
from netclaw.supervisor.services import Services
from netclaw.wire.grants import chat_row, grant_row
from netclaw.wire.v1 import admin_pb2 as pb


class AdminGrants:
    """Mixed into `Admin`."""

    _services: Services

    async def list_grants(
        self, request: pb.ListGrantsRequest, _caller: Caller
    ) -> pb.ListGrantsResponse:
        """What is kept, stored grants first."""
        audience = _audience(request.audience)
        store = await self._services.consents.stored.read()
        rows = [grant_row(grant) for grant in store.grants]
        rows += [chat_row(session_id, grant) for session_id, grant in self._services.consents.chats]
        return pb.ListGrantsResponse(
            grants=[
                row
                for row in rows
                if (audience is None or row.audience == audience.value)
                and request.tool in ("", row.tool)
            ],
            problem=store.fault or "",
        )

    async def revoke_grants(
        self, request: pb.RevokeGrantsRequest, _caller: Caller
    ) -> pb.RevokeGrantsResponse:
        """Remove what is named, durable when it returns."""
        if request.session_id:
            return pb.RevokeGrantsResponse(revoked=self._revoke_chat(request))
        choice = GrantChoice(
            label=request.label,
            audience=_audience(request.audience),
            tool=request.tool,
            directory=request.directory,
            is_everywhere=request.everywhere,
            is_all=request.all,
        )
        revoked = await self._services.consents.stored.revoke(choice)
        return pb.RevokeGrantsResponse(revoked=map(grant_row, revoked))

    def _revoke_chat(self, request: pb.RevokeGrantsRequest) -> list[pb.GrantRow]:
        session_id = parse_session_id(request.session_id)
        if bool(request.label) is request.all:
            raise InvalidArgumentError("Name one consent of the chat by its label, or all of them.")
        chats = self._services.consents.chats
        found = [
            grant
            for owner, grant in chats
            if owner == session_id and (request.all or grant.label == request.label)
        ]
        if not found:
            raise NotFoundError(
                "This chat has no such consent.", fix="See them with `netclaw approvals list`."
            )
        chats.revoke(session_id, found)
        return [chat_row(session_id, grant) for grant in found]

    async def trust_phrase(
        self, request: pb.TrustPhraseRequest, _caller: Caller
    ) -> pb.TrustPhraseResponse:
        """Store a grant for shell words, everywhere."""
        grant = grant_of_phrase(
            tuple(request.words),
            parse_audience(request.audience),
            created_at=datetime.fromtimestamp(self._services.now_ms() / 1000, UTC).isoformat(),
        )
        added = await self._services.consents.stored.add((grant,))
        return pb.TrustPhraseResponse(grant=grant_row(grant), added=bool(added))


def _audience(text: str) -> Audience | None:
    return parse_audience(text) if text else None
