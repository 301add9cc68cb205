"""The part of the public service that asks and changes nothing, and the outbox of adapters."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable

from netclaw.core.errors import (
    DeniedByPolicyError,
    InvalidArgumentError,
    NotFoundError,
    SessionUnreadableError,
)
from netclaw.core.ids import SessionId, parse_session_id
from netclaw.core.messages import Usage
from netclaw.core.session.events import TurnRecorded
from netclaw.ports.journal import JournalRow, SessionRecord
from netclaw.supervisor.adoption_api import other_adopters
from netclaw.supervisor.callers import Caller, check_channel, may_see, parse_source
from netclaw.supervisor.crashes import read_state, read_state_if_readable
from netclaw.supervisor.history_pages import history_page
from netclaw.supervisor.router import Router
from netclaw.supervisor.rows import ledger_entry, open_work, session_row
from netclaw.supervisor.services import Services
from netclaw.wire.convert import recorded_of, usage_to_proto
from netclaw.wire.v1 import gateway_pb2 as pb

LIST_LIMIT = 1000
LEDGER_LIMIT = 1000
OUTBOX_LIMIT = 100


class GatewayReads:
    """Mixed into `Gateway`."""

    def __init__(self, services: Services, router: Router) -> None:
        self._services = services
        self._router = router

    async def _visible(self, session_id: str, caller: Caller) -> SessionRecord:
        """A session that this caller may see; raises `NotFoundError` for any other."""
        record = await self._router.record(parse_session_id(session_id))
        check_channel(caller, record.channel)
        return record

    async def list_sessions(
        self, request: pb.ListSessionsRequest, caller: Caller
    ) -> pb.ListSessionsResponse:
        """Catalog rows in id order, a page at a time."""
        limit = min(request.limit or LIST_LIMIT, LIST_LIMIT)
        found: list[SessionRecord] = []
        after_id = request.after_id
        while len(found) < limit:
            page = await self._services.store.list_sessions(limit=limit, after_id=after_id)
            found += [
                record
                for record in page
                if may_see(caller, record.channel)
                and (request.with_children or record.parent is None)
            ]
            if len(page) < limit:
                break
            after_id = page[-1].session_id
        return pb.ListSessionsResponse(
            sessions=[
                session_row(
                    record, self._router.find(record.session_id), context_window=self._window()
                )
                for record in found[:limit]
            ]
        )

    async def get_session(self, request: pb.GetSessionRequest, caller: Caller) -> pb.SessionDetail:
        """One session with its storage and open work."""
        record = await self._visible(request.session_id, caller)
        state = await read_state_if_readable(self._services.store, record.session_id)
        storage = self._services.envelopes.shown(record.session_id, record)
        window = self._window()
        approvals, runs, jobs = open_work(state)
        is_operator = caller.is_operator  # files and other sessions are no business of an adapter
        link = await self._services.store.upstream_link(record.session_id) if is_operator else None
        return pb.SessionDetail(
            row=session_row(record, self._router.find(record.session_id), context_window=window),
            storage_root=storage.root,
            storage_tmp=storage.tmp,
            tokens=usage_to_proto(await self._tokens(request.session_id)),
            last_input_tokens=state.last_input_tokens,
            context_window=window,
            open_approvals=approvals,
            open_child_runs=runs,
            jobs=jobs,
            parent=record.parent or "",
            children=await self._services.store.children_of(record.session_id),
            working_directory=state.working_directory,
            upstream=link.source.path if link is not None else "",
            upstream_others=await other_adopters(self._services.store, link),
        )

    def _window(self) -> int:
        """Tokens that the main model can see; 0 without one."""
        model = self._services.settings.current.session.main_model
        return model.context_window if model is not None else 0

    async def get_history(
        self, request: pb.GetHistoryRequest, caller: Caller
    ) -> pb.GetHistoryResponse:
        """The chat items as the session's next model call would see them, a page at a time."""
        record = await self._visible(request.session_id, caller)
        state = await read_state(self._services.store, record.session_id)
        return await asyncio.to_thread(
            history_page,
            state,
            before=request.before,
            limit=request.limit,
            redact=self._services.redact,
        )

    async def get_ledger(
        self, request: pb.GetLedgerRequest, caller: Caller
    ) -> pb.GetLedgerResponse:
        """What became of the newest inputs, oldest of them first."""
        record = await self._visible(request.session_id, caller)
        limit = min(request.limit or LEDGER_LIMIT, LEDGER_LIMIT)
        entries = await self._services.store.ledger(record.session_id, limit=limit)
        return pb.GetLedgerResponse(entries=[ledger_entry(entry) for entry in entries])

    async def find_input(
        self, request: pb.FindInputRequest, caller: Caller
    ) -> pb.SendUserMessageResponse:
        """Whether a message was admitted; `not_found` if it never was."""
        session_id = parse_session_id(request.session_id)
        record = await self._services.store.get_session(session_id)
        if record is not None:
            check_channel(caller, record.channel)
        admission = await self._services.store.find_input(session_id, request.source_message_id)
        if admission is None:
            raise NotFoundError(
                "No message with this id was admitted to this session.",
                fix="It is safe to send it.",
            )
        return pb.SendUserMessageResponse(
            input_id=admission.input_id, seq=admission.seq, duplicate=True
        )

    async def claim_outbox(
        self, request: pb.ClaimOutboxRequest, caller: Caller
    ) -> pb.ClaimOutboxResponse:
        """Replies that wait for a channel."""
        channel = parse_source(request.channel)
        if caller.channels is not None and channel not in caller.channels:
            raise DeniedByPolicyError(f"This connection may not deliver for {channel.value}.")
        if not request.adapter_start:
            raise InvalidArgumentError("A claim names the adapter's start.")
        claimant = self._claimant(request.adapter_start, caller)
        now = self._services.now_ms()
        items = await self._services.store.claim_outbox(
            channel.value,
            limit=min(request.limit or OUTBOX_LIMIT, OUTBOX_LIMIT),
            claimant=claimant,
            at=now,
        )
        next_at = await self._services.store.next_outbox_at(channel.value, claimant=claimant)
        return pb.ClaimOutboxResponse(
            items=[
                pb.OutboxItem(
                    row_id=item.row_id,
                    session_id=item.session_id,
                    address=item.target.address,
                    text=item.text,
                    attempts=item.attempts,
                    turn_id=item.turn_id,
                    taken_over=item.is_taken_over,
                    kind=item.kind.value,
                    file_name="" if item.file is None else item.file.path.rpartition("/")[2],
                    file_bytes=0 if item.file is None else item.file.size_bytes,
                    file_sha256="" if item.file is None else item.file.sha256,
                )
                for item in items
            ],
            next_in_ms=0 if next_at is None else max(next_at - now, 1),
        )

    async def confirm_outbox(
        self, request: pb.ConfirmOutboxRequest, caller: Caller
    ) -> pb.ConfirmOutboxResponse:
        """A claimed reply was posted, or could not be."""
        now = self._services.now_ms()
        await self._services.store.confirm_outbox(
            request.row_id,
            claimant=self._claimant(request.adapter_start, caller),
            external_id=request.external_id,
            failure=request.failure,
            # Without a time it is given up: no adapter can mean "at once, for ever".
            next_attempt_at=now + request.retry_after_ms if request.retry_after_ms > 0 else 0,
        )
        self._services.outbox_watch.confirmed(request.row_id)
        return pb.ConfirmOutboxResponse()

    def _claimant(self, adapter_start: str, caller: Caller) -> str:
        """Claims lapse with the adapter's start and with ours (protocol "Outbox").

        The caller is part of the name, so no adapter can confirm what another one claimed.
        """
        ours = f"{self._services.generation}/{self._services.start_id}"
        return f"{ours}/{caller.name}/{adapter_start}"

    async def _tokens(self, session_id: str) -> Usage:
        """What all recorded turns of the session cost."""
        total = Usage()
        since = 0
        while True:
            rows = await self._services.store.read_journal(
                SessionId(session_id), since=since, limit=LIST_LIMIT
            )
            recorded = [row for row in rows if row.type == TurnRecorded.__name__]
            if recorded:
                total = total.plus(await asyncio.to_thread(_usage_of, recorded))
            if len(rows) < LIST_LIMIT:
                return total
            since = rows[-1].seq


def _usage_of(rows: Iterable[JournalRow]) -> Usage:
    """What some recorded turns cost; one that cannot be read costs nothing here."""
    total = Usage()
    for row in rows:
        with contextlib.suppress(SessionUnreadableError):
            event = recorded_of(row).event
            if isinstance(event, TurnRecorded):
                total = total.plus(event.usage)
    return total
