"""Reads transcripts for their adoption, beside everything else that the daemon does.

A long file takes minutes and a dead disk never answers, so the threads that do this do nothing
else. A reading that nobody waits for any more ends at its next piece: the command line was left, or
the daemon ends.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from netclaw.supervisor.transcript_files import Transcript, read_transcript

THREADS = 2
"""Readings at once; further ones wait in the order of asking."""


class TranscriptReader:
    """The readings of one daemon."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="netclaw-adoption")

    async def read(self, path: str) -> Transcript:
        """Read one as a whole; see `read_transcript` for what it raises."""
        is_left = threading.Event()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, read_transcript, path, is_left.is_set)
        finally:
            is_left.set()
