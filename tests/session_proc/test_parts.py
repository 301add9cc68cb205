"""Small parts alone: the warm-up, the ending, the stream's first frame, ids, the mailbox."""

from __future__ import annotations

import asyncio
import base64
import sys
import threading

import pytest

from netclaw.core.exit_codes import ExitCode
from netclaw.core.session.commands import Advance, Recover, StopTurn
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.ids import new_id, new_reference
from netclaw.session_proc.mailbox import Letter, Mailbox
from netclaw.session_proc.main import warm
from netclaw.session_proc.process_setup import private_bytes
from netclaw.wire.v1.session_host_pb2 import Answer, Chunk, ToSession
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost

WARMED = """
import sys, threading
from netclaw.session_proc.main import warm
warm()
from pathlib import Path
heavy = {"pydantic", "apsw", "psutil", "rich", "click", "openai", "anthropic", "mcp", "jsonc"}
print(len(list(Path("/proc/self/task").iterdir())), sorted(heavy & set(sys.modules)))
"""


@pytest.mark.requirement("session_proc.exec")
async def test_a_warmed_process_can_be_forked_and_holds_nothing_heavy() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", WARMED, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert said.decode().strip() == "1 []"
    assert process.returncode == 0


def test_the_rehearsal_leaves_no_thread_behind() -> None:
    before = set(threading.enumerate())
    warm()
    assert not set(threading.enumerate()) - before


@pytest.mark.requirement("session_proc.internal")
async def test_a_fault_in_a_callback_ends_the_process(host: ScriptedHost, start: Start) -> None:
    def fault() -> None:
        raise RuntimeError("broken callback")

    process = start()
    await host.until(lambda seen: "ready" in seen.phases)
    asyncio.get_running_loop().call_soon(fault)
    async with asyncio.timeout(15):
        assert await process is ExitCode.INTERNAL
    assert "broken callback" in host.seen.failing[0].stack


async def test_running_out_of_memory_has_its_own_exit_code() -> None:
    ending = Ending()
    told: list[str] = []
    ending.on_failure = lambda sentence, _stack: told.append(sentence)
    ending.fail(MemoryError())
    ending.fail(RuntimeError("later"))
    ending.finish(ExitCode.PASSIVATED)
    assert await ending.wait() is ExitCode.MEMORY
    assert told == ["The session process failed (MemoryError)."]


async def test_frames_this_process_need_not_know_are_passed_over(
    host: ScriptedHost, start: Start
) -> None:
    start()
    await host.until(lambda seen: "ready" in seen.phases)
    host.send(ToSession(answer=Answer(number=1)))
    host.send(ToSession())
    host.admit("[[reply:fine]]")
    await host.turn_completed()


@pytest.mark.requirement("session_proc.chunks")
async def test_a_piece_that_cannot_be_one_ends_the_stream(host: ScriptedHost, start: Start) -> None:
    process = start()
    await host.until(lambda seen: "ready" in seen.phases)
    host.send(ToSession(chunk=Chunk(data=b"", last=False)))
    async with asyncio.timeout(15):
        assert await process is ExitCode.STREAM_LOST


def test_ids_are_random_base32_of_80_bits() -> None:
    made = {new_id() for _ in range(1000)}
    assert len(made) == 1000
    assert {len(base64.b32decode(item.upper())) for item in made} == {10}
    assert len(new_reference()) == 8


def test_an_advance_behind_an_advance_is_left_out() -> None:
    mailbox = Mailbox()
    first = Letter(Recover())
    for command in (Advance(), Advance(), StopTurn(actor="me"), Advance()):
        mailbox.put(Letter(command))
    mailbox.put_back(first)
    taken = []
    while (letter := mailbox.take()) is not None:
        taken.append(type(letter.command).__name__)
    assert taken == ["Recover", "Advance", "StopTurn", "Advance"]
    mailbox.put(first)
    mailbox.clear()
    assert mailbox.take() is None


def test_private_memory_is_measured() -> None:
    before = private_bytes()
    # So large that it is mapped anew and not taken from what was freed before.
    hoard = bytearray(64 * 1024 * 1024)
    hoard[::4096] = b"x" * len(hoard[::4096])
    assert private_bytes() - before > 48 * 1024 * 1024
