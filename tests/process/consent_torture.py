"""Prompts under fire: random calls, answers, kills and edits of the grants; then each promise.

What is checked knows nothing of the rules' code: the files that commands wrote to, the journal,
the list of open requests and the processes of the machine. Used by `scripts/torture consent`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import grpc

from netclaw.wire.v1 import gateway_pb2
from tests.process.checks import check_journal, is_alive, launches, processes_with
from tests.process.consent_checks import (
    ConsentToll,
    approvers,
    check_consents,
    person_of,
    tags_of,
)
from tests.process.world import ASKING, World, merge

SETTLE_S = 120.0
GROWTH_MB = 64
"""What the daemon may grow by in a run, whatever was asked of it."""
BUSY: dict[str, Any] = {"Session": {"IdleTimeout": "00:00:01"}}
"""Sessions go to rest between a prompt and its answer."""
GRANT: dict[str, Any] = {
    "shell": "Bash",
    "match": "TokenPrefix",
    "verbTokens": ["tee"],
    "directory": None,
    "createdAt": "2026-11-30T12:00:00+00:00",
}
RUBBISH = ("", "Z", "approve_nothing", "\u202eyned", "a\0b", "x" * 100_000, "APPROVE_ONCE", "deny ")
LASTING = ("approve_session", "approve_always", "approve_everywhere")
GONE = (grpc.aio.AioRpcError, grpc.aio.UsageError, FileNotFoundError, asyncio.CancelledError)


class ConsentTorture:
    """Some sessions of one daemon whose calls ask, and everybody who is in the way of it."""

    def __init__(self, world: World, *, seed: int, sessions: int) -> None:
        self._world = world
        self._random = random.Random(seed)
        self._names = [f"c{number}" for number in range(sessions)]
        self._marker = f"consents-{os.getpid()}-{seed}.txt"
        self._sent: dict[str, set[str]] = {name: set() for name in self._names}
        self._kinds: dict[str, str] = {}
        self._over = asyncio.Event()
        self.toll = ConsentToll()

    async def run(self, *, kills: int) -> ConsentToll:
        """Make trouble until `kills` processes were killed, then settle and check."""
        for name in self._names:
            await self._world.peer.ensure(name)
        before = _megabytes(self._world.pid)
        people = [
            asyncio.create_task(work)
            for work in (
                *map(self._talk, self._names),
                *(self._decide() for _ in range(3)),
                self._decide_by_command(),
                self._edit(),
            )
        ]
        while self.toll.kills.total() < kills:
            await self._pause(0.3)
            await self._kill_something()
        self._over.set()
        await asyncio.gather(*people)
        self._grants(self._file_of(GRANT))
        await self._settle()
        self.toll.grown_mb = _megabytes(self._world.pid) - before
        assert self.toll.grown_mb < GROWTH_MB, f"the daemon grew by {self.toll.grown_mb} MB"
        return self.toll

    async def _pause(self, longest_s: float) -> None:
        await asyncio.sleep(self._random.choice((0.0, 0.01, 0.1, 0.3, 1.0)) * longest_s)

    # What is asked

    def _call(self) -> str:
        """One call and, by its tag, what has to be true of it."""
        tag = f"n{len(self._kinds)}"
        kind, command = self._random.choice(
            (
                ("granted", f"echo {tag} | tee -a {self._marker}"),
                ("asked", f"echo {tag} | dd of={self._marker} oflag=append conv=notrunc"),
                ("asked", f'eval "echo {tag} >> {self._marker}; sleep 0.2"'),
                ("asked", f"python3 -c \"open('{self._marker}', 'a').write('{tag}\\n')\""),
                ("denied", f"echo {tag} | sudo tee -a {self._marker}"),
                ("safe", f"echo {tag}"),
            )
        )
        self._kinds[tag] = kind
        self.toll.calls[kind] += 1
        return f"[[tool:shell_execute {json.dumps({'command': command})}]]"

    async def _talk(self, name: str) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            rounds = [
                " ".join(self._call() for _ in range(self._random.randint(1, 3)))
                for _ in range(self._random.randint(1, 2))
            ]
            text = f"{' [[next]] '.join(rounds)} [[reply:done]]"
            is_attended = self._random.random() < 0.9
            while True:
                with contextlib.suppress(*GONE):
                    sent = await self._world.peer.send(
                        name,
                        text,
                        message_id=f"m{number}",
                        sender=person_of(name),
                        is_attended=is_attended,
                    )
                    self._sent[name].add(sent.input_id)
                    break
                await self._world.is_up.wait()
            while not self._over.is_set() and await self._is_behind(name):
                await self._pause(1.0)

    async def _is_behind(self, name: str) -> bool:
        """Whether a session has much to do: what is written then joins a turn, unheard."""
        try:
            entries = await self._world.peer.ledger(name)
        except GONE:
            await self._world.is_up.wait()
            return True
        waiting = sum(entry.outcome in ("waiting", "running") for entry in entries)
        return waiting > self._random.choice((0, 0, 0, 1))

    # Who answers

    async def _open(self) -> list[gateway_pb2.PendingApproval]:
        found = await self._world.peer.gateway.ListApprovals(
            gateway_pb2.ListApprovalsRequest(), metadata=self._world.peer.metadata, timeout=30
        )
        return list(found.approvals)

    def _option(self, request: gateway_pb2.PendingApproval) -> str:
        """What is answered; lasting consent is given to `tee` alone."""
        keys = [item.key for item in request.options]
        if "tee" not in request.display:
            keys = [key for key in keys if key in ("approve_once", "deny")]
        return self._random.choice(keys)

    async def _decide(self) -> None:
        while not self._over.is_set():
            await self._pause(0.4)
            try:
                waiting = await self._open()
                if waiting:
                    await self._answer(self._random.choice(waiting))
            except GONE:
                await self._world.is_up.wait()

    async def _answer(self, request: gateway_pb2.PendingApproval) -> None:
        kind = self._random.choice(("right",) * 6 + ("rubbish", "foreign", "elsewhere", "stale"))
        answer = gateway_pb2.AnswerApprovalRequest(
            session_id=request.session_id, call_id=request.call_id, option=self._option(request)
        )
        answer.sender.sender_id = person_of(request.session_id)
        if kind == "rubbish":
            answer.option = self._random.choice(RUBBISH)
        elif kind == "foreign":
            answer.sender.sender_id = "somebody"
            answer.option = "approve_once"
        elif kind == "elsewhere":
            others = [name for name in self._names if name != request.session_id]
            answer.session_id = self._random.choice(others)
        elif kind == "stale":
            answer.request_seq = 1
        try:
            await self._world.peer.gateway.AnswerApproval(
                answer, metadata=self._world.peer.metadata, timeout=30
            )
        except grpc.aio.AioRpcError as refusal:
            if refusal.code() in (grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL):
                raise AssertionError(f"{kind} answer: {refusal}") from None
            self.toll.answers[f"{kind} {refusal.code().name}"] += 1
        else:
            self.toll.answers[kind] += 1
            is_anybodys = kind == "foreign" and not person_of(request.session_id)
            assert kind == "right" or is_anybodys, f"a {kind} answer counted: {answer}"

    async def _decide_by_command(self) -> None:
        """Answer with the command line, which is killed at any moment of it."""
        while not self._over.is_set():
            await self._pause(2.0)
            try:
                waiting = await self._open()
            except GONE:
                await self._world.is_up.wait()
                continue
            if not waiting:
                continue
            request = self._random.choice(waiting)
            process = await asyncio.create_subprocess_exec(
                *(str(self._world.cli), "approvals", "answer", request.call_id),
                self._option(request),
                env=self._world.environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._random.choice((0.2, 0.4, 0.6, 10.0))):
                    await process.wait()
            if process.returncode is None:
                process.kill()
                self.toll.kills["command"] += 1
            await process.wait()
            self.toll.answers["command"] += 1

    # What goes wrong

    def _file_of(self, *grants: dict[str, Any]) -> str:
        entries = {"shell_execute": list(grants)} if grants else {}
        return json.dumps({"version": 3, "audiences": {"Personal": entries}})

    def _grants(self, text: str) -> None:
        fresh = self._world.home / "config" / "grants.edited"
        fresh.write_text(text)
        fresh.replace(self._world.home / "config" / "tool-approvals.json")

    async def _edit(self) -> None:
        file = self._world.home / "config" / "tool-approvals.json"
        while not self._over.is_set():
            await self._pause(2.0)
            choice = self._random.choice(("full", "empty", "broken", "gone", "cut"))
            if choice == "gone":
                file.unlink(missing_ok=True)
            elif choice == "cut" and file.exists():
                file.write_bytes(file.read_bytes()[:-3])
            elif choice == "broken":
                self._grants('{"version": 3, "audiences": {"Everybody": {}}}')
            else:
                self._grants(self._file_of(*([GRANT] if choice == "full" else [])))
            self.toll.edits += 1

    async def _kill_something(self) -> None:
        if self._random.random() < 0.1:
            await self._kill_daemon()
            return
        rows = [row for row in (await self._world.peer.rows()).values() if row.pid]
        tools = processes_with(self._marker)
        choice = self._random.random()
        if choice < 0.05:
            await self._world.restart()
            self.toll.kills["restart"] += 1
        elif choice < 0.3 and tools:
            self._kill("tool", self._random.choice(tools))
        elif rows:
            self._kill("session", self._random.choice(rows).pid)

    def _kill(self, kind: str, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.toll.kills[kind] += 1

    async def _kill_daemon(self) -> None:
        pids = [row.pid for row in (await self._world.peer.rows()).values() if row.pid]
        await self._world.kill()
        self.toll.kills["daemon"] += 1
        await self._world.until(lambda: not [pid for pid in pids if is_alive(pid)])
        await self._world.until(lambda: not processes_with(self._marker))
        await self._world.start()
        for name, row in (await self._world.peer.rows()).items():
            if row.phase == "quarantined":
                await self._world.peer.restart_session(name)

    # What has to be true in the end

    async def _settle(self) -> None:
        """Answer what is open until nothing is; then nothing may wait for anything."""
        began = time.monotonic()
        while waiting := await self._unfinished():
            assert time.monotonic() - began < SETTLE_S, f"waits for ever: {waiting}"
            for request in await self._open():
                await self._last_answer(request)
            await asyncio.sleep(0.1)
        assert not await self._open(), "a request is open and no turn is"
        for name in self._names:
            await self._check(name)
        await self._world.until(lambda: not processes_with(self._marker))
        assert not await self._world.peer.check_storage()

    async def _last_answer(self, request: gateway_pb2.PendingApproval) -> None:
        answer = gateway_pb2.AnswerApprovalRequest(
            session_id=request.session_id, call_id=request.call_id, option=self._option(request)
        )
        answer.sender.sender_id = person_of(request.session_id)
        with contextlib.suppress(grpc.aio.AioRpcError):
            await self._world.peer.gateway.AnswerApproval(
                answer, metadata=self._world.peer.metadata, timeout=30
            )

    async def _unfinished(self) -> dict[str, list[str]]:
        found = {}
        for name in self._names:
            rows = await self._world.peer.journal(name)
            admitted = [r["payload"]["input_id"] for r in rows if r["type"] == "InputAdmitted"]
            lost = self._sent[name] - set(admitted)
            assert not lost, f"acknowledged and lost: {lost}"
            consumed = {
                item
                for row in rows
                if row["type"] in ("TurnRecorded", "TurnFailed")
                for item in row["payload"].get("input_ids", ())
            }
            if left := [item for item in admitted if item not in consumed]:
                found[name] = left
        return found

    async def _check(self, name: str) -> None:
        rows = await self._world.peer.journal(name)
        check_journal(rows)
        self.toll.events.update(row["type"] for row in rows if "onsent" in row["type"])
        tags = tags_of(rows)
        check_consents(rows, {call: self._kinds[tag] for call, tag in tags.items()})
        if person := person_of(name):
            others = approvers(rows) - {person}
            assert not others, f"others approved: {others}"
        root = (await self._world.peer.detail(name)).storage_root
        effects = Path(root) / "workspace" / self._marker
        ran = Counter(effects.read_text().split()) if effects.exists() else Counter()
        self.toll.runs += ran.total()
        launched = {tags[call] for call in launches(rows)}
        assert not [tag for tag, times in ran.items() if times > 1], "a call ran twice"
        assert set(ran) <= launched, f"ran unlaunched: {set(ran) - launched}"


def _megabytes(pid: int) -> int:
    """What a process holds in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


async def consent_torture(*, seed: int, kills: int, sessions: int) -> ConsentToll:
    """One whole run in a home of its own."""
    async with World(config=merge(ASKING, BUSY)) as world:
        await world.start()
        try:
            return await ConsentTorture(world, seed=seed, sessions=sessions).run(kills=kills)
        except BaseException:
            print(f"seed {seed}; the daemon said:\n{world.log[-6000:]}")
            raise
