"""The operator's service of the scripted daemon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netclaw.wire.v1 import admin_pb2, gateway_pb2
from netclaw.wire.v1.common_pb2 import JournalRow
from tests.cli.scripted_signals import AdminSignals

if TYPE_CHECKING:
    from tests.cli.scripted_daemon import Context, ScriptedDaemon


class Admin(AdminSignals):
    """Answers as its daemon is told."""

    def __init__(self, daemon: ScriptedDaemon) -> None:
        self._daemon = daemon

    def _steer(
        self, name: str, request: admin_pb2.SessionRef, context: Context
    ) -> gateway_pb2.SessionRow:
        self._daemon.note(name, request, context)
        return self._daemon.known(name, request.session_id, context)

    def KillSession(
        self, request: admin_pb2.SessionRef, context: Context
    ) -> gateway_pb2.SessionRow:
        return self._steer("KillSession", request, context)

    def StopSession(
        self, request: admin_pb2.SessionRef, context: Context
    ) -> gateway_pb2.SessionRow:
        return self._steer("StopSession", request, context)

    def RestartSession(
        self, request: admin_pb2.SessionRef, context: Context
    ) -> gateway_pb2.SessionRow:
        return self._steer("RestartSession", request, context)

    def ResetSession(
        self, request: admin_pb2.SessionRef, context: Context
    ) -> gateway_pb2.SessionRow:
        return self._steer("ResetSession", request, context)

    def DeleteSession(
        self, request: admin_pb2.SessionRef, context: Context
    ) -> gateway_pb2.SessionRow:
        return self._steer("DeleteSession", request, context)

    def CompactSession(
        self, request: admin_pb2.SessionRef, context: Context
    ) -> gateway_pb2.SessionRow:
        return self._steer("CompactSession", request, context)

    def ReadJournal(
        self, request: admin_pb2.ReadJournalRequest, context: Context
    ) -> Iterator[JournalRow]:
        self._daemon.note("ReadJournal", request, context)
        yield from (row for row in self._daemon.journal if row.seq > request.since_seq)

    def Inject(
        self, request: gateway_pb2.SendUserMessageRequest, context: Context
    ) -> gateway_pb2.SendUserMessageResponse:
        self._daemon.note("Inject", request, context)
        return self._daemon.admit(request)

    def Status(
        self, request: admin_pb2.StatusRequest, context: Context
    ) -> admin_pb2.StatusResponse:
        self._daemon.note("Status", request, context)
        return self._daemon.status

    def Shutdown(
        self, request: admin_pb2.ShutdownRequest, context: Context
    ) -> admin_pb2.ShutdownResponse:
        self._daemon.note("Shutdown", request, context)
        self._daemon.status.generation += 1
        return admin_pb2.ShutdownResponse(generation=self._daemon.status.generation - 1)

    def Reload(
        self, request: admin_pb2.ReloadRequest, context: Context
    ) -> admin_pb2.ReloadResponse:
        self._daemon.note("Reload", request, context)
        reply = self._daemon.replies.get("Reload", admin_pb2.ReloadResponse())
        assert isinstance(reply, admin_pb2.ReloadResponse)
        if reply.restarting:
            self._daemon.status.generation = reply.generation + 1
        return reply

    def CheckStorage(
        self, request: admin_pb2.CheckStorageRequest, context: Context
    ) -> admin_pb2.CheckStorageResponse:
        self._daemon.note("CheckStorage", request, context)
        reply = self._daemon.replies.get("CheckStorage", admin_pb2.CheckStorageResponse(ok=True))
        assert isinstance(reply, admin_pb2.CheckStorageResponse)
        return reply

    def ListGrants(
        self, request: admin_pb2.ListGrantsRequest, context: Context
    ) -> admin_pb2.ListGrantsResponse:
        self._daemon.note("ListGrants", request, context)
        reply = self._daemon.replies.get("ListGrants", admin_pb2.ListGrantsResponse())
        assert isinstance(reply, admin_pb2.ListGrantsResponse)
        return reply

    def RevokeGrants(
        self, request: admin_pb2.RevokeGrantsRequest, context: Context
    ) -> admin_pb2.RevokeGrantsResponse:
        self._daemon.note("RevokeGrants", request, context)
        reply = self._daemon.replies.get("RevokeGrants", admin_pb2.RevokeGrantsResponse())
        assert isinstance(reply, admin_pb2.RevokeGrantsResponse)
        return reply

    def TrustPhrase(
        self, request: admin_pb2.TrustPhraseRequest, context: Context
    ) -> admin_pb2.TrustPhraseResponse:
        self._daemon.note("TrustPhrase", request, context)
        reply = self._daemon.replies.get("TrustPhrase", admin_pb2.TrustPhraseResponse())
        assert isinstance(reply, admin_pb2.TrustPhraseResponse)
        return reply

    def ListRuns(
        self, request: admin_pb2.ListRunsRequest, context: Context
    ) -> admin_pb2.ListRunsResponse:
        self._daemon.note("ListRuns", request, context)
        reply = self._daemon.replies.get("ListRuns", admin_pb2.ListRunsResponse())
        assert isinstance(reply, admin_pb2.ListRunsResponse)
        rows = [row for row in reply.runs if row.position > request.after]
        limit = request.limit or 2
        return admin_pb2.ListRunsResponse(runs=rows[:limit], more=len(rows) > limit)

    def CancelRun(self, request: admin_pb2.RunRef, context: Context) -> admin_pb2.RunRow:
        self._daemon.note("CancelRun", request, context)
        reply = self._daemon.replies.get("CancelRun", admin_pb2.RunRow())
        assert isinstance(reply, admin_pb2.RunRow)
        return reply

    def ListJobs(
        self, request: admin_pb2.ListJobsRequest, context: Context
    ) -> admin_pb2.ListJobsResponse:
        self._daemon.note("ListJobs", request, context)
        reply = self._daemon.replies.get("ListJobs", admin_pb2.ListJobsResponse())
        assert isinstance(reply, admin_pb2.ListJobsResponse)
        rows = [row for row in reply.jobs if row.position > request.after]
        limit = request.limit or 2
        return admin_pb2.ListJobsResponse(jobs=rows[:limit], more=len(rows) > limit)

    def CancelJob(self, request: admin_pb2.JobRef, context: Context) -> admin_pb2.JobRow:
        self._daemon.note("CancelJob", request, context)
        reply = self._daemon.replies.get("CancelJob", admin_pb2.JobRow())
        assert isinstance(reply, admin_pb2.JobRow)
        return reply

    def TailJob(
        self, request: admin_pb2.TailJobRequest, context: Context
    ) -> Iterator[admin_pb2.JobOutput]:
        self._daemon.note("TailJob", request, context)
        data = "ünï\x1b[31m\nend\n".encode()
        for at in range(0, len(data), 2):
            yield admin_pb2.JobOutput(data=data[at : at + 2])
