"""The part of the public service about consent requests: what is open, and the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

from netclaw.core.errors import DeniedByPolicyError, StorageError
from netclaw.core.ids import (
    CallId,
    RunId,
    SessionId,
    chat_key,
    is_child_key,
    parse_session_id,
    run_of_key,
)
from netclaw.ports.answers import AnswerRequest, PendingConsent
from netclaw.ports.journal import SessionRecord
from netclaw.supervisor.callers import (
    Caller,
    authority_for,
    check_short_text,
    may_see,
    stored_position,
)
from netclaw.supervisor.gateway_reads import GatewayReads
from netclaw.supervisor.rows import pending_row
from netclaw.wire.v1 import gateway_pb2 as pb
from netclaw.wire.v1.common_pb2 import Sender

PAGE = 200
LIST_LIMIT = 1000
LIST_BYTES = 3 * 1024 * 1024
"""What one answer carries of requests: as much as fits into 4 MiB with room for one more."""
HELD_NOTICE = (
    "This session is held. Your answer is kept and counts after `netclaw sessions restart`."
)


class GatewayApprovals(GatewayReads):
    """Mixed into `Gateway`."""

    async def answer_approval(
        self, request: pb.AnswerApprovalRequest, caller: Caller
    ) -> pb.AnswerApprovalResponse:
        """Make an answer durable; its session was woken by the commit itself."""
        self._redirect(request)
        record = await self._visible(request.session_id, caller)
        try:
            admission = await self._services.store.answer(self._answer(request, record, caller))
        except StorageError as error:
            self._services.health.note(error)
            raise
        slot = self._router.find(record.session_id)
        is_held = slot is not None and slot.hold is not None
        return pb.AnswerApprovalResponse(
            seq=admission.seq,
            duplicate=admission.is_duplicate,
            notice=HELD_NOTICE if is_held else "",
        )

    def _redirect(self, request: pb.AnswerApprovalRequest) -> None:
        """What a child run asks is answered with its parent, whose record people see.

        Its place in the run's own journal is none in its parent's.
        """
        asked = parse_session_id(request.session_id)
        if is_child_key(asked):
            request.session_id = chat_key(asked)
            request.request_seq = 0

    def _answer(
        self, request: pb.AnswerApprovalRequest, record: SessionRecord, caller: Caller
    ) -> AnswerRequest:
        """The answer with who gives it: what they claim, capped by the token it came with."""
        if caller.is_operator:
            _check_own(request.sender)
        requester = authority_for(
            caller, record.session_id, record.audience, request.sender, ()
        ).requester
        return AnswerRequest(
            session_id=record.session_id,
            call_id=CallId(check_short_text(request.call_id, "call id")),
            option=check_short_text(request.option, "option"),
            answerer=requester.sender_id or "",
            boundary=requester.boundary,
            principal=requester.principal,
            at=self._services.now_ms(),
            shown_seq=request.request_seq,
        )

    async def list_approvals(
        self, request: pb.ListApprovalsRequest, caller: Caller
    ) -> pb.ListApprovalsResponse:
        """What waits for a person, oldest first."""
        wanted: SessionId | None = None
        run: RunId | None = None
        if request.session_id:
            wanted = chat_key(parse_session_id(request.session_id))
            run = run_of_key(parse_session_id(request.session_id))
            await self._visible(wanted, caller)
        limit = min(request.limit or LIST_LIMIT, LIST_LIMIT)
        response = pb.ListApprovalsResponse()
        size = 0
        async for item in self._open_requests(stored_position(request.after)):
            if not may_see(caller, item.channel) or wanted not in (None, item.session_id):
                continue
            if run not in (None, item.run_id):
                continue
            row = pending_row(item)
            size += row.ByteSize()
            if response.approvals and (size > LIST_BYTES or len(response.approvals) >= limit):
                response.more = True
                break
            response.approvals.append(row)
        return response

    async def _open_requests(self, after: int) -> AsyncIterator[PendingConsent]:
        while page := await self._services.store.pending_consents(limit=PAGE, after=after):
            for item in page:
                yield item
            after = page[-1].position


def _check_own(sender: Sender) -> None:
    """The operator may stand in for anybody's message, but answers for nobody else (decision 48).

    Raises `DeniedByPolicyError` for a sender of another place.
    """
    if sender.source_kind not in ("", "cli") or sender.boundary not in ("", "local"):
        raise DeniedByPolicyError(
            "The operator's connection answers consent requests for the operator alone.",
            fix="Let the person who made the request answer it in their channel.",
        )
