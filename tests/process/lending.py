"""One daemon for many tests: to start it costs more than most tests do.

    @pytest.fixture
    async def world(lender: Lender) -> AsyncIterator[World]:
        async with lender.lend() as world:
            yield world

A test may do to its daemon what it likes. Afterwards the daemon serves another test of the same
configuration, if it is as it was: alive, however often it was restarted, with the same files beside
its database, and without sessions, which are deleted. One that is not is ended, and so is one whose
test failed.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc

from netclaw.wire.v1 import admin_pb2
from tests.fakes.model import FakeModel
from tests.process.world import World

KEPT = 3
"""Daemons that wait for a next test; more would be memory for nothing."""
CLEAN_WITHIN_S = 15.0
TRASH = "trash"
PASSING = frozenset({"logs", "run", "sessions", TRASH})
"""Folders of a home that hold nothing which somebody configures."""

ModelMaker = Callable[[socket.socket], FakeModel]
Preparation = Callable[[World], None]


def nothing(_world: World) -> None:
    """No preparation."""


def plain_model(listener: socket.socket) -> FakeModel:
    """A model that does what it is told."""
    return FakeModel(listener=listener)


class LentWorld(World):
    """A home that one test after another has to itself, each with a model of its own."""

    def __init__(
        self, *, config: dict[str, Any] | None, make_model: ModelMaker, prepare: Preparation
    ) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self._make_model = make_model
        self._prepare = prepare
        super().__init__(config=config, model=make_model(self._listener))
        self._files: dict[Path, bytes] = {}
        self.has_failed = False
        """Set for a test that failed: nobody knows what it left."""

    async def open(self) -> None:
        """Be there for a test, with a daemon that runs."""
        self.has_failed = False
        if self.process is None:
            await self.__aenter__()
            self._prepare(self)
            self._files = self._configuration()
            await self.start()
            return
        self.model = self._make_model(self._listener)
        await self.model.__aenter__()
        await self.peer.connect()

    async def close(self) -> bool:
        """Leave the test; returns whether another one may come."""
        try:
            return not self.has_failed and await self._is_as_it_was()
        finally:
            await self.peer.close()
            await self.model.__aexit__(None, None, None)

    def end(self) -> None:
        """Kill the daemon, remove its home and give its model's address up."""
        super().end()
        self._listener.close()

    async def _is_as_it_was(self) -> bool:
        process = self.process
        if process is None or process.returncode is not None:
            return False
        try:
            async with asyncio.timeout(CLEAN_WITHIN_S):
                await self.peer.connect()
                status = await self.peer.status()
                await self._delete_sessions()
                shutil.rmtree(self.home / TRASH, ignore_errors=True)
        except (TimeoutError, OSError, grpc.aio.AioRpcError):
            return False
        return status.pid == process.pid and self._configuration() == self._files

    async def _delete_sessions(self) -> None:
        for row in list((await self.peer.rows()).values()):
            if "/sub/" not in row.id:  # those go with their parents
                await self.peer.admin.DeleteSession(
                    admin_pb2.SessionRef(session_id=row.id), metadata=self.peer.metadata
                )
        while await self.peer.rows():
            await asyncio.sleep(0.02)

    def _configuration(self) -> dict[Path, bytes]:
        """The files that somebody may have changed, and what they hold."""
        return {
            path: path.read_bytes()
            for folder in self.home.iterdir()
            if folder.is_dir() and folder.name not in PASSING
            for path in folder.rglob("*")
            if path.is_file()
        }


class Lender:
    """The daemons of one test process that wait for a next test."""

    def __init__(self) -> None:
        self._waiting: dict[str, LentWorld] = {}

    @asynccontextmanager
    async def lend(
        self,
        config: dict[str, Any] | None = None,
        *,
        make_model: ModelMaker = plain_model,
        prepare: Preparation = nothing,
    ) -> AsyncIterator[LentWorld]:
        """A world with a running daemon of this configuration, prepared before its first start."""
        key = json.dumps([config, make_model.__qualname__, prepare.__qualname__])
        world = self._waiting.pop(key, None) or LentWorld(
            config=config, make_model=make_model, prepare=prepare
        )
        is_reusable = False
        try:
            await world.open()
            yield world
        except BaseException:
            world.has_failed = True
            raise
        finally:
            try:
                is_reusable = await world.close()
            finally:
                self._settle(key, world, is_reusable=is_reusable)

    def _settle(self, key: str, world: LentWorld, *, is_reusable: bool) -> None:
        if not is_reusable:
            world.end()
            return
        self._waiting[key] = world
        while len(self._waiting) > KEPT:
            self._waiting.pop(next(iter(self._waiting))).end()

    def close(self) -> None:
        """End all of them."""
        for world in self._waiting.values():
            world.end()
        self._waiting.clear()
