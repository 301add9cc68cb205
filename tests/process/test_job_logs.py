"""What background jobs print: kept, redacted, bounded; floods and full disks harm nobody."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from netclaw.config.home import Home
from netclaw.config.secret_store import set_secret
from netclaw.wire.v1 import admin_pb2
from tests.process.checks import processes_with
from tests.process.job_calls import (
    NAME,
    begin,
    in_state,
    let_go,
    log_of,
    pid_of,
    told,
    waits,
)
from tests.process.small_disk import fill, small_disk
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

SECRET = "correct-horse-battery-staple"
MAX_LOG_BYTES = 5_100_000


def read(path: str | Path) -> str:
    """The text of a file."""
    return Path(path).read_text()


def size(path: Path) -> int:
    """The bytes of a file."""
    return path.stat().st_size


LINES = 3_000_000
"""Of ten bytes: more than a process may grow by."""
GROWTH_MIB = 16


def resident_mib(pid: int) -> float:
    """Memory of a process that no other shares."""
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(fields[1]) - int(fields[2])) * 4096 / 1024 / 1024


@pytest.mark.requirement("jobs.log")
async def test_secrets_are_taken_out_however_they_are_printed() -> None:
    async with World() as world:
        set_secret(Home(world.home), "Providers.fake.ApiKey", SECRET)
        await world.start()
        head, tail = SECRET[:9], SECRET[9:]
        token = "ghp_" + "a1B2" * 9
        row = await begin(
            world,
            f"printf 'known {head}'; sleep 0.5; echo '{tail} end'; sleep 0.5;"
            f" printf 'shape {token[:12]}'; sleep 0.5; echo {token[12:]};"
            " printf -- '-----BEGIN PRIVATE KEY-----\\nAAAA\\n'; sleep 0.5;"
            " printf -- 'BBBB\\n-----END PRIVATE KEY-----\\n'; echo last",
        )
        await in_state(world, row.job_id, "Completed")
        assert log_of(row).splitlines() == [
            "known [redacted] end",
            "shape [redacted]",
            "[redacted]",
            "last",
            "[netclaw] The job ended with exit status 0.",
        ]
        assert SECRET not in row.command
        await told(world, NAME, row.job_id)


@pytest.mark.requirement("jobs.flood")
async def test_many_megabytes_are_rotated_and_hold_nobody(world: World) -> None:
    row = await begin(world, f"echo first; seq -f '%09.0f' {LINES}; echo last")
    pid = await pid_of(world)
    before = resident_mib(pid)
    answers = [await world.peer.turn(NAME, f"[[reply:{number}]]") for number in range(3)]
    assert [turn.text for turn in answers] == ["0", "1", "2"]
    most = before
    async with asyncio.timeout(90):
        while (await in_state(world, row.job_id, "Running", "Completed")).state == "Running":
            most = max(most, resident_mib(pid))
            await asyncio.sleep(0.1)
    await told(world, NAME, row.job_id)
    assert most - before < GROWTH_MIB
    log = Path(row.log_path)
    older = log.with_name("output.1.log")
    assert size(log) <= MAX_LOG_BYTES
    assert 4_000_000 < size(older) <= MAX_LOG_BYTES
    lines = (read(older) + read(log)).splitlines()
    assert lines[-3:] == [f"{LINES:09}", "last", "[netclaw] The job ended with exit status 0."]
    numbers = [int(line) for line in lines[1:-2]]
    assert numbers == list(range(numbers[0], LINES + 1)), "nothing between is missing"


@pytest.mark.requirement("jobs.flood")
async def test_a_fork_bomb_ends_its_job_and_nothing_else() -> None:
    async with World(config={"Tools": {"Sandbox": {"Processes": 60}}}) as world:
        await world.start()
        # Not by a shell: bash waits for 15 seconds before it believes that it may not fork.
        bomb = "import subprocess; [subprocess.Popen(('sleep', '3077.91')) for _ in range(500)]"
        row = await begin(world, f'python3 -c "{bomb}"')
        assert (await world.peer.turn(NAME, "[[reply:here]]")).text == "here"
        await in_state(world, row.job_id, "Failed", "Completed")
        await told(world, NAME, row.job_id)
        assert not processes_with("3077.91")


@pytest.mark.requirement("jobs.flood")
async def test_a_full_disk_ends_neither_the_job_nor_the_session() -> None:
    world = World()
    with small_disk(world.home, megabytes=64):
        async with world:
            await world.start()
            row = await begin(world, f"echo first; {waits('a')}; seq 100000; {waits('b')}")
            await world.until(lambda: log_of(row) == "first\n")
            pid = await pid_of(world)
            await let_go(world, "a")
            ballast = fill(world.home)
            await world.until(lambda: log_of(row) != "first\n")
            assert await pid_of(world) == pid
            ballast.unlink()
            await world.peer.wait_status(lambda status: status.storage_state == "ok")
            await let_go(world, "b")
            await in_state(world, row.job_id, "Completed")
            await told(world, NAME, row.job_id)
            assert log_of(row).startswith("first\n")
            assert "[netclaw] The job ended with exit status 0." in log_of(row)


@pytest.mark.requirement("jobs.files")
async def test_file_tools_read_the_log_and_neither_read_nor_write_the_definition(
    world: World,
) -> None:
    row = await begin(world, "echo printed")
    await in_state(world, row.job_id, "Completed")
    definition = str(Path(row.log_path).parent) + ".json"
    assert json.loads(read(definition))["jobId"] == row.job_id

    def tool(name: str, **arguments: str) -> str:
        return f"[[tool:{name} {json.dumps(arguments)}]] [[results]]"

    turn = await world.peer.turn(NAME, tool("file_read", path=row.log_path))
    assert "printed" in turn.text
    kept = (read(definition), log_of(row))
    for call in (
        tool("file_read", path=definition),
        tool("file_write", path=definition, content="mine"),
        tool("file_write", path=row.log_path, content="mine"),
        tool("shell_execute", command=f"echo mine > {definition}"),
        tool("shell_execute", command=f"echo mine > {row.log_path}; rm -rf {definition}"),
    ):
        text = (await world.peer.turn(NAME, call)).text
        assert '"jobId"' not in text
    assert (read(definition), log_of(row)) == kept


@pytest.mark.requirement("jobs.cli")
async def test_the_command_line_follows_and_cancels_a_real_job(world: World) -> None:
    row = await begin(world, f"echo begun; {waits('never')}")
    following = await asyncio.create_subprocess_exec(
        *(str(world.cli), "jobs", "tail", row.job_id[:8], "--follow"),
        env=world.environment(),
        stdout=asyncio.subprocess.PIPE,
    )
    assert following.stdout is not None
    assert await following.stdout.readline() == b"begun\n"
    cancel = await asyncio.create_subprocess_exec(
        *(str(world.cli), "jobs", "cancel", row.job_id, "--json"),
        env=world.environment(),
        stdout=asyncio.subprocess.PIPE,
    )
    shown, _ = await cancel.communicate()
    assert json.loads(shown)["state"] == "Cancelled"
    rest = await following.stdout.read()
    assert rest == b"[netclaw] The job was cancelled and killed with all its processes.\n"
    assert await following.wait() == 0
    request = admin_pb2.ListJobsRequest(job_id=row.job_id)
    found = await world.peer.admin.ListJobs(request, metadata=world.peer.metadata)
    assert found.jobs[0].state == "Cancelled"
