"""Watches one running command: its output, its clocks, its use of the machine, its end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from netclaw.ports.shell_runner import OutputSink, ShellEnd, ShellLimits
from netclaw.sandbox.errors import StartError
from netclaw.sandbox.launch import Launched

SAMPLE_S = 0.25
"""How often a tree's use is looked at (decision 84)."""

PIECE_BYTES = 65536


async def readable(fd: int, deadline: float) -> None:
    """Waits until a descriptor can be read or has ended. Raises `StartError` at the deadline."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(fd, _settle, ready)
    try:
        async with asyncio.timeout_at(deadline):
            await ready
    except TimeoutError:
        raise StartError("The sandbox took too long to be set up.") from None
    finally:
        loop.remove_reader(fd)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Watch:
    """Waits for the first of: exit, silence, total time, memory, processes."""

    def __init__(
        self,
        launched: Launched,
        bounds: ShellLimits,
        sink: OutputSink,
        room: asyncio.Event | None = None,
    ) -> None:
        self._launched = launched
        self._bounds = bounds
        self._sink = sink
        self._room = room
        self._pause: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Future[ShellEnd] = self._loop.create_future()
        self._heard_at = self._loop.time()
        self._timers: list[asyncio.TimerHandle] = []
        self.detail = ""

    async def until_end(self, sample: Callable[[], ShellEnd | None]) -> ShellEnd:
        """Returns why the command is over; it may still be alive unless that is EXITED.

        `sample` is called in a thread and names a passed limit. A fault of the sink is raised.
        """
        loop, launched = self._loop, self._launched
        loop.add_reader(launched.monitor.fd, self._finish, ShellEnd.EXITED)
        loop.add_reader(launched.output_fd, self._read)
        if self._bounds.total_s:
            self._timers.append(
                loop.call_later(self._bounds.total_s, self._finish, ShellEnd.TOTAL_TIME)
            )
        if self._bounds.silence_s:
            self._listen_until(self._heard_at + self._bounds.silence_s)
        sampler = asyncio.ensure_future(self._keep_sampling(sample))
        try:
            return await self._end
        finally:
            sampler.cancel()
            if self._pause is not None:
                self._pause.cancel()
            for timer in self._timers:
                timer.cancel()
            loop.remove_reader(launched.monitor.fd)
            loop.remove_reader(launched.output_fd)

    def _finish(self, end: ShellEnd) -> None:
        if not self._end.done():
            self._end.set_result(end)

    def _read(self) -> None:
        """One piece per turn of the loop: a flood of output cannot starve the session."""
        try:
            piece = os.read(self._launched.output_fd, PIECE_BYTES)
        except BlockingIOError:
            return
        if not piece:
            self._loop.remove_reader(self._launched.output_fd)
            return
        self._heard_at = self._loop.time()
        try:
            self._sink(piece)
        except Exception as fault:  # noqa: BLE001 - it belongs to the caller and is raised there
            self._loop.remove_reader(self._launched.output_fd)
            if not self._end.done():
                self._end.set_exception(fault)
            return
        if self._room is not None and not self._room.is_set():
            self._loop.remove_reader(self._launched.output_fd)
            self._pause = asyncio.ensure_future(self._go_on(self._room))

    async def _go_on(self, room: asyncio.Event) -> None:
        """Read on once there is room; a full pipe is no silence of the command."""
        await room.wait()
        self._heard_at = self._loop.time()
        self._loop.add_reader(self._launched.output_fd, self._read)

    def _listen_until(self, when: float) -> None:
        self._timers = [timer for timer in self._timers if not timer.cancelled()]
        self._timers.append(self._loop.call_at(when, self._check_silence))

    def _check_silence(self) -> None:
        due = self._heard_at + self._bounds.silence_s
        if self._loop.time() >= due:
            self._finish(ShellEnd.SILENCE)
        else:
            self._listen_until(due)

    async def _keep_sampling(self, sample: Callable[[], ShellEnd | None]) -> None:
        while not self._end.done():
            await asyncio.sleep(SAMPLE_S)
            try:
                passed = await asyncio.to_thread(sample)
            except Exception as fault:  # noqa: BLE001 - an unwatched tree must not go on
                self.detail = f"The command could not be watched ({type(fault).__name__})."
                passed = ShellEnd.MEMORY
            if passed is not None:
                self._finish(passed)
