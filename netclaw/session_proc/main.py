"""Runs one session in this process: forked from the zygote, or started by exec.

Nothing of asyncio or gRPC exists before `run_session`; the zygote calls `warm` first and forks
then. Both ways end in `os._exit`, because a forked process owns nothing of its template to tear
down.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from netclaw.core.errors import ErrorCode
from netclaw.core.exit_codes import ExitCode
from netclaw.observe.redact import Redactor
from netclaw.ports.memory import MemoryPort
from netclaw.ports.spawner import Bootstrap
from netclaw.ports.tool import ToolRunner
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.process_setup import set_up_process
from netclaw.session_proc.session import Session, build_session
from netclaw.session_proc.session_log import SessionLog, SessionLogHandler
from netclaw.session_proc.stream import HostStream, StreamLostError, StreamRefusedError
from netclaw.session_proc.tool_setup import make_git_inspection, make_servers, make_tools
from netclaw.session_proc.warm_up import warm
from netclaw.wire.v1.session_host_pb2 import Failing, ToHost, ToSession, Welcome

__all__ = ["run_session", "serve", "warm"]

FLUSH_S = 2.0
"""At the end: how long frames, tools and the log may each still take."""


def run_session(bootstrap: Bootstrap) -> int:
    """Be this session until it ends; returns the exit status of the process.

    The caller leaves by `os._exit` at once: gRPC's threads and the loop are not torn down.
    """
    if not set_up_process(bootstrap):
        return int(ExitCode.STREAM_LOST)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return int(loop.run_until_complete(serve(bootstrap)))
    except MemoryError:
        return int(ExitCode.MEMORY)


async def serve(
    bootstrap: Bootstrap, *, tools: ToolRunner | None = None, memory: MemoryPort | None = None
) -> ExitCode:
    """Dial home, be the session, say goodbye; returns why it ended."""
    ending = Ending()
    asyncio.get_running_loop().set_exception_handler(ending.handle_loop_exception)
    stream = HostStream(bootstrap.host_socket)
    try:
        welcome = await stream.open(bootstrap.token)
    except StreamLostError as fault:
        return _code_of(fault)
    life = _Life(stream, ending, SessionLog(bootstrap.log_path), make_redactor(welcome))
    ending.watch(asyncio.create_task(life.begin(welcome, tools, memory), name="begin"))
    return await life.end()


class _Life:
    """The stream's two tasks, and the session between Welcome and exit."""

    def __init__(
        self, stream: HostStream, ending: Ending, log: SessionLog, redact: Redactor
    ) -> None:
        self._stream = stream
        self._ending = ending
        self._log = log
        self._redact = redact
        self._session: Session | None = None
        self._early: deque[ToSession] = deque()
        self._log_handler = SessionLogHandler(log, redact)
        logging.getLogger().addHandler(self._log_handler)
        ending.on_failure = self._report
        self._writer = asyncio.create_task(stream.write_all(), name="stream writer")
        self._reader = asyncio.create_task(stream.read_all(self._deliver), name="stream reader")
        for task in (self._writer, self._reader):
            task.add_done_callback(self._on_stream_done)

    async def begin(
        self, welcome: Welcome, tools: ToolRunner | None, memory: MemoryPort | None
    ) -> None:
        """Build the session and let it begin; pings are answered meanwhile."""
        servers = None if tools else make_servers(welcome)
        session = await build_session(
            welcome,
            sink=self._stream,
            tools=tools or make_tools(welcome, servers),
            servers=servers,
            git=None if tools else make_git_inspection(welcome),
            memory=memory,
            redact=self._redact,
            make_stream=self._redact.stream,
            ending=self._ending,
            log=self._log,
        )
        self._session = session
        session.begin()
        while self._early:
            session.deliver(self._early.popleft())

    async def end(self) -> ExitCode:
        """Wait for the reason to end, let go of everything within bounds, return the code."""
        code = await self._ending.wait()
        await self._ending.cancel_tasks(FLUSH_S)
        if code is not ExitCode.STREAM_LOST:
            await self._stream.flush(FLUSH_S)
            await self._stream.half_close(FLUSH_S)
            # The supervisor ends the stream once it has read everything; breaking it off before
            # could lose what is still on its way.
            await asyncio.wait((self._reader,), timeout=FLUSH_S)
        if self._session is not None:
            await self._session.close()
        logging.getLogger().removeHandler(self._log_handler)
        self._log.close(FLUSH_S)
        for task in (self._reader, self._writer):
            task.cancel()
        await asyncio.wait((self._reader, self._writer), timeout=FLUSH_S)
        await self._stream.close()
        return code

    def _report(self, sentence: str, stack: str) -> None:
        failing = Failing(code=ErrorCode.INTERNAL, sentence=sentence, stack=self._redact(stack))
        self._stream.send(ToHost(failing=failing))

    def _deliver(self, frame: ToSession) -> None:
        if frame.WhichOneof("body") == "credentials":
            renewed = frame.credentials
            self._redact.replace_secrets((*renewed.redactions, *renewed.credentials.values()))
        if self._session is None:
            self._early.append(frame)
        elif not self._ending.is_decided:
            try:
                self._session.deliver(frame)
            except Exception as fault:  # noqa: BLE001 - it ends the process; who reads goes on
                # `end` waits for the end of the stream: only then is our report known to be read.
                self._ending.fail(fault)

    def _on_stream_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        fault = task.exception()
        if fault is None or isinstance(fault, StreamLostError):
            self._ending.finish(_code_of(fault))
        else:
            self._ending.fail(fault)


def _code_of(fault: StreamLostError | None) -> ExitCode:
    if isinstance(fault, StreamRefusedError):
        return ExitCode.FENCED
    return ExitCode.STREAM_LOST


def make_redactor(welcome: Welcome) -> Redactor:
    """Removes this home's secrets and whatever has the shape of one."""
    return Redactor((*welcome.redactions, *welcome.credentials.values()))
