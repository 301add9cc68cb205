"""The supervisor's end of the zygote: asks for forks, notices its death, starts it again."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from dataclasses import asdict

from netclaw.linux.pidfd import WatchedProcess
from netclaw.ports.spawner import MAX_BOOTSTRAP_BYTES, Bootstrap
from netclaw.supervisor.spawn.exec_start import INHERITED_FD, start_python

_log = logging.getLogger(__name__)

READY_TIMEOUT_S = 20.0
"""A zygote that has not warmed up by then is replaced."""
WARM_PATIENCE_S = 2.0
"""How long after its start somebody waits for it; then an exec is there sooner."""
FORK_TIMEOUT_S = 1.5
"""A fork takes milliseconds: a zygote without an answer by then is stuck."""


class ZygoteLostError(Exception):
    """The zygote died or did not answer; start by exec instead."""


class ZygoteClient:
    """One zygote process. Not restartable: a lost one is replaced by a new object."""

    def __init__(self, *, entry: str, warm: str) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self._socket = ours
        try:
            pid = start_python(
                [
                    "-m",
                    "netclaw.supervisor.spawn.zygote",
                    "--fd",
                    str(INHERITED_FD),
                    "--parent",
                    str(os.getpid()),
                    "--entry",
                    entry,
                    "--warm",
                    warm,
                ],
                inherited_fd=theirs.fileno(),
            )
        finally:
            theirs.close()
        self.process = WatchedProcess(pid)
        loop = asyncio.get_running_loop()
        self._patience_ends = loop.time() + WARM_PATIENCE_S
        # Awaited apart from those who ask: one who stops waiting must not lose the packet.
        self._warming = loop.create_task(self._warm_up())

    async def _warm_up(self) -> ZygoteLostError | None:
        try:
            answer = await self._receive(READY_TIMEOUT_S)
        except ZygoteLostError as lost:
            return lost
        if "ready" not in answer:
            return ZygoteLostError(f"unexpected first packet: {answer}")
        return None

    @property
    def is_warm(self) -> bool:
        """Whether it said that it forks."""
        warming = self._warming
        return warming.done() and not warming.cancelled() and warming.result() is None

    async def is_ready(self) -> bool:
        """Whether it has warmed up, waiting for that in its first `WARM_PATIENCE_S` only.

        Raises `ZygoteLostError` once it is clear that it never will.
        """
        if not self._warming.done():
            left_s = max(0.0, self._patience_ends - asyncio.get_running_loop().time())
            await asyncio.wait((self._warming,), timeout=left_s)
        if not self._warming.done():
            return False
        if (lost := self._warming.result()) is not None:
            raise lost
        return True

    async def fork(self, bootstrap: Bootstrap) -> int:
        """Return the pid of a new session process; one request at a time (the caller's lock).

        Raises `ZygoteLostError` when no trustworthy answer came: the zygote must be discarded,
        because a late answer would be taken for the next request's.
        """
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._socket, json.dumps(asdict(bootstrap)).encode())
        except OSError as fault:
            raise ZygoteLostError(str(fault)) from fault
        answer = await self._receive(FORK_TIMEOUT_S)
        pid = answer.get("pid")
        if not isinstance(pid, int):
            raise ZygoteLostError(str(answer.get("error", answer)))
        return pid

    async def _receive(self, timeout_s: float) -> dict[str, object]:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                packet = await loop.sock_recv(self._socket, MAX_BOOTSTRAP_BYTES)
        except (TimeoutError, OSError) as fault:
            raise ZygoteLostError(f"{type(fault).__name__}: {fault}") from fault
        if not packet:
            raise ZygoteLostError("the zygote closed its socket")
        answer: dict[str, object] = json.loads(packet)
        return answer

    async def discard(self) -> None:
        """Kill it, reap it, close the socket."""
        self.process.kill()
        await self.process.wait()
        self.close()

    def close(self) -> None:
        """Close the socket; may be called again."""
        self._warming.cancel()
        self._socket.close()
