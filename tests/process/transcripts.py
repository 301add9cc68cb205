"""Transcripts as another program writes them, sessions that went on from them, and what is told."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from pathlib import Path
from typing import Self

from netclaw.wire.v1 import admin_pb2
from tests.process.world import World

WAIT_S = 30.0
TICK_S = 0.1
QUICK = {"Signals": {"MonitorTickSeconds": TICK_S}}


def row(text: str, role: str = "user") -> str:
    """A row of the generic format."""
    return json.dumps({"role": role, "text": text}) + "\n"


class Transcript:
    """One file, in a folder of its own that is no netclaw home."""

    def __init__(self, *rows: str, name: str = "talk.jsonl") -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tr-", dir="/tmp"))
        self.path = self._folder / name
        self.path.write_text("".join(rows))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, text: str) -> None:
        """Write at the end, in one piece."""
        with self.path.open("a") as file:
            file.write(text)


class Adopter:
    """Adopts, watches and looks at the signal log of one daemon."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._pulse: Transcript | None = None
        self._pulses = 0

    async def adopt(
        self, transcript: Transcript | Path, session_id: str = ""
    ) -> admin_pb2.AdoptTranscriptResponse:
        """Adopt a file."""
        path = transcript if isinstance(transcript, Path) else transcript.path
        peer = self._world.peer
        response: admin_pb2.AdoptTranscriptResponse = await peer.admin.AdoptTranscript(
            admin_pb2.AdoptTranscriptRequest(path=str(path), session_id=session_id),
            metadata=peer.metadata,
            timeout=WAIT_S,
        )
        return response

    async def watch(self, target: str, watcher: str = "cli/watcher") -> None:
        """Have a session watch another."""
        peer = self._world.peer
        await peer.ensure(watcher)
        await peer.admin.WatchSession(
            admin_pb2.WatchRequest(watcher=watcher, target=target), metadata=peer.metadata
        )

    async def adopt_watched(self, transcript: Transcript, session_id: str = "cli/adopted") -> str:
        """Adopt a file into a session that another one watches."""
        adopted = await self.adopt(transcript, session_id)
        await self.watch(adopted.session_id)
        return adopted.session_id

    async def signals(self, session_id: str) -> list[admin_pb2.SignalRow]:
        """What the log holds of a session, adoptions aside."""
        peer = self._world.peer
        shown = await peer.admin.ShowSignals(
            admin_pb2.ShowSignalsRequest(session_id=session_id), metadata=peer.metadata
        )
        return [event for event in shown.events if event.kind != "adopted"]

    async def wait_signals(self, session_id: str, count: int) -> list[admin_pb2.SignalRow]:
        """Poll until the log holds so many; bounded."""
        async with asyncio.timeout(WAIT_S):
            while len(found := await self.signals(session_id)) < count:
                await asyncio.sleep(0.02)
        return found

    async def ticks(self, count: int = 2) -> None:
        """Return once every followed transcript was looked at so often from now on.

        Told by a transcript of its own, whose session is looked at last.
        """
        name = "cli/zz-pulse"
        if self._pulse is None:
            self._pulse = Transcript(row("begin"))
            await self.adopt_watched(self._pulse, name)
        for _ in range(count):
            self._pulses += 1
            self._pulse.add(row(f"pulse {self._pulses}"))
            await self.wait_signals(name, self._pulses)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pulse is not None:
            self._pulse.__exit__()


def turns_of(signals: list[admin_pb2.SignalRow]) -> int:
    """How many messages of people some events stand for."""
    return sum(
        max(event.payload.turns, 1) for event in signals if event.kind == "human_direct_message"
    )
