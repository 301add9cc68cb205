"""The part of the operator's service about child runs: list and cancel."""

from __future__ import annotations

from netclaw.core.errors import InvalidArgumentError, NotFoundError
from netclaw.core.ids import RunId, parse_session_id
from netclaw.core.storage_layout import child_run_dir
from netclaw.ports.child_records import ChildRecord
from netclaw.supervisor.callers import Caller, check_short_text
from netclaw.supervisor.children import Children
from netclaw.supervisor.router import Router
from netclaw.supervisor.services import Services
from netclaw.wire.v1 import admin_pb2 as pb

LIST_LIMIT = 1000
LIST_BYTES = 3 * 1024 * 1024
"""What one answer carries of runs: as much as fits into 4 MiB with room for one more."""


class AdminRuns:
    """Mixed into `Admin`."""

    _services: Services
    _router: Router
    _children: Children

    async def list_runs(self, request: pb.ListRunsRequest, _caller: Caller) -> pb.ListRunsResponse:
        """Runs by age, as they stand now."""
        limit = min(request.limit or LIST_LIMIT, LIST_LIMIT)
        if request.run_id:
            found = await self._services.store.find_runs(_run_id(request.run_id))
        else:
            session_id = parse_session_id(request.session_id) if request.session_id else None
            if session_id is not None:
                await self._router.record(session_id)
            found = await self._services.store.list_runs(
                limit=limit + 1, after=request.after, session_id=session_id
            )
        response = pb.ListRunsResponse()
        size = 0
        for record in found:
            row = await self._run_row(record)
            size += row.ByteSize()
            if response.runs and (size > LIST_BYTES or len(response.runs) >= limit):
                response.more = True
                break
            response.runs.append(row)
        return response

    async def cancel_run(self, request: pb.RunRef, caller: Caller) -> pb.RunRow:
        """Have the parent end it; returns once that is durable."""
        record = await self._run(request.run_id)
        if record.ended_at is not None:
            raise InvalidArgumentError(
                f"The run is over ({record.state.value}); there is nothing to cancel.",
                fix=f"`netclaw runs show {record.run_id}` says how it ended.",
            )
        await self._children.cancels.cancel(record, actor=caller.name)
        return await self._run_row(await self._run(request.run_id))

    async def _run(self, run_id: str) -> ChildRecord:
        found = await self._services.store.find_runs(_run_id(run_id))
        if not found:
            raise NotFoundError(
                "There is no such child run.", fix="`netclaw runs list` names them."
            )
        return found[0]

    async def _run_row(self, record: ChildRecord) -> pb.RunRow:
        slot = self._router.find(record.child)
        parent = await self._services.store.get_session(record.session_id)
        folder = ""
        if parent is not None:
            root = self._services.envelopes.shown(record.session_id, parent).root
            folder = child_run_dir(root, record.run_id)
        return pb.RunRow(
            run_id=record.run_id,
            parent=record.session_id,
            session_id=record.child,
            agent=record.agent,
            state=record.state.value,
            reason=record.reason,
            pid=slot.pid if slot is not None else 0,
            started_at_ms=record.accepted_at,
            ended_at_ms=record.ended_at or 0,
            result_path=record.result_path,
            told_at_ms=record.told_at or 0,
            turn_id=record.turn_id,
            call_id=record.call_id,
            position=record.position,
            folder=folder,
        )


def _run_id(text: str) -> RunId:
    return RunId(check_short_text(text, "run id"))
