"""Removes the files of background jobs a day after the turn that told of them (decision 72).

Also for sessions at rest: what is to be removed stands in the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil

from netclaw.core.errors import NetclawError, NotFoundError
from netclaw.core.settings import SessionStorage
from netclaw.ports.job_records import JobRecord
from netclaw.ports.jobs import KEPT_S
from netclaw.supervisor.services import Services

_log = logging.getLogger(__name__)

EVERY_S = 900.0
BATCH = 200
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class JobCleanup:
    """Looks for what is due, now and then."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def run(self) -> None:
        """Clean up until cancelled."""
        while True:
            try:
                await self.sweep()
            except NetclawError as error:
                _log.warning("the files of jobs are cleaned up later: %s", error.sentence)
            await asyncio.sleep(EVERY_S)

    async def sweep(self) -> int:
        """Remove what is due; returns how many jobs that was."""
        store = self._services.store
        before = self._services.now_ms() - int(KEPT_S * 1000)
        removed = 0
        while due := await store.told_jobs(before=before, limit=BATCH):
            for record in due:
                session = await store.get_session(record.session_id)
                if session is not None:
                    storage = self._services.envelopes.shown(record.session_id, session)
                    await asyncio.to_thread(_remove, storage, record)
                with contextlib.suppress(NotFoundError):
                    await store.forget_job(record.session_id, record.job_id)
                removed += 1
        return removed


def _remove(storage: SessionStorage, record: JobRecord) -> None:
    """Remove definition and logs; what is not there, or is a link, is left alone."""
    try:
        folder = os.open(storage.jobs, _FOLDER)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            os.unlink(f"{record.job_id}.json", dir_fd=folder)
        with contextlib.suppress(OSError):
            shutil.rmtree(record.job_id, dir_fd=folder)
    finally:
        os.close(folder)
