"""The part of the scripted daemon's operator service about state awareness."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from google.protobuf.message import Message

from netclaw.wire.v1 import admin_pb2

if TYPE_CHECKING:
    from tests.cli.scripted_daemon import Context, ScriptedDaemon

Reply = TypeVar("Reply", bound=Message)


class AdminSignals:
    """Answers as its daemon is told, and remembers goals."""

    _daemon: ScriptedDaemon

    def ShowSignals(
        self, request: admin_pb2.ShowSignalsRequest, context: Context
    ) -> admin_pb2.ShowSignalsResponse:
        return self._reply("ShowSignals", request, context, admin_pb2.ShowSignalsResponse())

    def WatchSession(
        self, request: admin_pb2.WatchRequest, context: Context
    ) -> admin_pb2.WatchResponse:
        return self._reply("WatchSession", request, context, admin_pb2.WatchResponse(watched=True))

    def UnwatchSession(
        self, request: admin_pb2.WatchRequest, context: Context
    ) -> admin_pb2.WatchResponse:
        return self._reply("UnwatchSession", request, context, admin_pb2.WatchResponse())

    def ListWatches(
        self, request: admin_pb2.ListWatchesRequest, context: Context
    ) -> admin_pb2.ListWatchesResponse:
        """Two rows a page, whatever was asked for."""
        known = self._reply("ListWatches", request, context, admin_pb2.ListWatchesResponse())
        after = (request.after_watcher, request.after_target)
        rows = [
            row
            for row in known.watches
            if (row.watcher, row.target) > after
            and request.session_id in ("", row.watcher, row.target)
        ]
        return admin_pb2.ListWatchesResponse(watches=rows[:2], more=len(rows) > 2)

    def TailSignals(
        self, request: admin_pb2.TailSignalsRequest, context: Context
    ) -> Iterator[admin_pb2.SignalsTail]:
        self._daemon.note("TailSignals", request, context)
        tail = self._daemon.tail
        while context.is_active():
            try:
                batch = tail.get(timeout=0.05)
            except queue.Empty:
                continue
            if batch is None:
                return
            yield batch

    def AdoptTranscript(
        self, request: admin_pb2.AdoptTranscriptRequest, context: Context
    ) -> admin_pb2.AdoptTranscriptResponse:
        adopted = admin_pb2.AdoptTranscriptResponse(
            session_id=request.session_id or "cli/abcdefghij",
            catalog="jsonl",
            upstream=request.path,
            created=True,
            messages=2,
        )
        return self._reply("AdoptTranscript", request, context, adopted)

    def GetGoal(self, request: admin_pb2.SessionRef, context: Context) -> admin_pb2.GoalRow:
        self._daemon.note("GetGoal", request, context)
        row = self._daemon.known("GetGoal", request.session_id, context)
        return admin_pb2.GoalRow(session_id=row.id, text=row.goal, status=row.goal_status)

    def SetGoal(self, request: admin_pb2.SetGoalRequest, context: Context) -> admin_pb2.GoalRow:
        self._daemon.note("SetGoal", request, context)
        row = self._daemon.known("SetGoal", request.session_id, context)
        before = (row.goal, row.goal_status)
        if request.HasField("text") or request.clear:
            row.goal = request.text
        status = request.status or row.goal_status or "active"
        row.goal_status = status if row.goal else ""
        is_changed = (row.goal, row.goal_status) != before
        return admin_pb2.GoalRow(
            session_id=row.id, text=row.goal, status=row.goal_status, changed=is_changed
        )

    def _reply(self, name: str, request: Message, context: Context, default: Reply) -> Reply:
        self._daemon.note(name, request, context)
        reply = self._daemon.replies.get(name, default)
        assert isinstance(reply, type(default))
        return reply
