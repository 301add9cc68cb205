"""Warms the process that sessions are forked from: what is loaded there is shared by all of them.

A session that imports or first uses something itself pays memory and time for it (measured: a
first turn costs 8 MiB less in a process that was warmed by one). So the warm-up rehearses: it
builds a whole session in a temporary folder, lets a supervisor in memory commit what it appends
and answer what it asks, and lets a socket of its own answer its model calls: one for a tool, so
that a call is judged and run, one that ends the turn, and one for a title. It leaves no thread, no
loop, no file and no gRPC object behind.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from netclaw.core.authority import (
    Audience,
    Authenticity,
    Authority,
    Principal,
    Provenance,
    Requester,
    SourceKind,
)
from netclaw.core.ids import InputId, SessionId
from netclaw.core.session.events import InputAdmitted, SessionEvent
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.settings import ModelSettings, ProviderType, SessionSettings
from netclaw.observe.redact import Redactor
from netclaw.ports.consents import KnownConsents
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.session import Session, build_session
from netclaw.session_proc.session_log import SessionLog
from netclaw.session_proc.tool_setup import make_tools
from netclaw.wire.consents import encode_known
from netclaw.wire.journal_codec import encode_event, encode_settings
from netclaw.wire.v1 import common_pb2 as pb
from netclaw.wire.v1.session_host_pb2 import (
    Answer,
    Committed,
    NewEvent,
    ToHost,
    ToSession,
    Welcome,
)

ROUNDS = 10
"""Tool calls of the rehearsal: what has run often is not adapted by each session anew."""

REHEARSAL_S = 5.0
"""A rehearsal that takes longer is broken off: sessions then warm themselves."""

_HEAD = b"""HTTP/1.1 200 OK\r
Content-Type: text/event-stream\r
Connection: close\r
\r
data: {"model":"warm","choices":[{"index":0,"delta":{"reasoning_content":"warm"}}]}

"""
_TAIL = b"""
data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}

data: [DONE]

"""
_CALL = b"""data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"warm",\
"function":{"name":"file_list","arguments":"{\\"path\\":\\"%d\\"}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
"""
_TEXT = (
    b"""data: {"choices":[{"index":0,"delta":{"content":"warm "}}]}

"""
    * 100
    + b"""data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}
"""
)


def warm() -> None:
    """Hold one turn with nobody; called by the zygote before it forks. Never raises for it."""
    try:
        with tempfile.TemporaryDirectory(prefix="netclaw-warm-") as folder:
            for number in range(ROUNDS):
                Path(folder, "home/sessions/warm/workspace", str(number)).mkdir(parents=True)
            asyncio.run(_rehearse(folder))
    except (OSError, TimeoutError):
        pass  # no loopback interface, or a machine too busy to wait for
    _until_alone()


def _until_alone() -> None:
    """Wait until the threads of the rehearsal, which have ended, are gone for the kernel too."""
    give_up = time.monotonic() + REHEARSAL_S
    while len(list(Path("/proc/self/task").iterdir())) > 1 and time.monotonic() < give_up:
        time.sleep(0.001)


async def _rehearse(folder: str) -> None:
    async with asyncio.timeout(REHEARSAL_S), _model() as endpoint:
        ending = Ending()
        supervisor = _Supervisor()
        welcome = _welcome(endpoint, folder)
        session = await build_session(
            welcome,
            sink=supervisor,
            tools=make_tools(welcome),
            redact=Redactor(("warm-up-secret",)),
            ending=ending,
            log=_NoLog(),
        )
        supervisor.session = session
        session.begin()
        supervisor.admit()
        await supervisor.titled.wait()
        await ending.cancel_tasks(REHEARSAL_S)
        await session.close()


class _Supervisor:
    """Commits whatever is appended, through the real messages."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.titled = asyncio.Event()
        """The turn is recorded, and the title that was asked for beside it."""
        self._head = 0

    def send(self, sent: ToHost) -> None:
        """Take a frame as the stream would."""
        received = ToHost.FromString(sent.SerializeToString())
        if received.WhichOneof("body") == "append":
            append = received.append
            self._later(append.append_id, list(append.events))
            if any(output.type == "title" for output in append.outputs):
                self.titled.set()
        elif received.HasField("ask"):
            answer = Answer(number=received.ask.number, payload=encode_known(KnownConsents()))
            frame = ToSession(answer=answer).SerializeToString()
            asyncio.get_running_loop().call_soon(self._deliver, frame)

    def admit(self) -> None:
        """Admit the one input of the rehearsal."""
        draft = encode_event(_input())
        event = NewEvent(type=draft.type, version=draft.version, payload=draft.payload)
        self._later("", [event])

    def _later(self, append_id: str, events: list[NewEvent]) -> None:
        rows = [
            pb.JournalRow(
                seq=self._head + number,
                at_ms=1,
                type=event.type,
                version=event.version,
                payload=event.payload,
            )
            for number, event in enumerate(events, 1)
        ]
        self._head += len(rows)
        frame = ToSession(committed=Committed(append_id=append_id, rows=rows))
        asyncio.get_running_loop().call_soon(self._deliver, frame.SerializeToString())

    def _deliver(self, frame: bytes) -> None:
        if self.session is not None:
            self.session.deliver(ToSession.FromString(frame))


class _NoLog(SessionLog):
    """Renders lines and forgets them: no thread may exist when the zygote forks."""

    def __init__(self) -> None:
        super().__init__("")

    def write(self, render: Callable[[], str]) -> None:
        """Render, so that its code is warm."""
        render()


def _welcome(endpoint: str, folder: str) -> Welcome:
    settings = SessionSettings(
        main_model=ModelSettings(
            provider="warm",
            provider_type=ProviderType.OPENAI_COMPATIBLE,
            endpoint=endpoint,
            model_id="warm",
        )
    )
    return Welcome(
        session_id="warm",
        incarnation=1,
        settings=encode_settings(settings),
        interest=int(OutputFilter.ALL),
        storage_home=f"{folder}/home",
        storage_root=f"{folder}/home/sessions/warm",
        storage_tmp=f"{folder}/t/warm/p",
    )


def _input() -> SessionEvent:
    return InputAdmitted(
        input_id=InputId("warm"),
        source_message_id=None,
        text="warm",
        authority=Authority(
            requester=Requester(
                session_id=SessionId("warm"),
                audience=Audience.PERSONAL,
                boundary="local",
                channel_type=SourceKind.CLI,
                sender_id=None,
                principal=Principal.OPERATOR,
            ),
            provenance=Provenance(
                source_kind=SourceKind.CLI, authenticity=Authenticity.LOCAL_PROCESS
            ),
        ),
        attended=False,
    )


@asynccontextmanager
async def _model() -> AsyncIterator[str]:
    """An endpoint on loopback: the first answer calls a tool, all others are a small text."""
    answers = iter([_CALL % number for number in range(ROUNDS)])

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_HEAD + next(answers, _TEXT) + _TAIL)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/v1"
