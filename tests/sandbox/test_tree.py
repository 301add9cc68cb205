"""When a command is over, nothing of its tree lives, however it ended."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from netclaw.ports.shell_runner import ShellEnd, ShellLimits
from netclaw.sandbox.process_tree import children
from netclaw.sandbox.runner import SandboxRunner
from tests.sandbox.rig import Rig, acknowledge, until

# Each process keeps the marker ($0) in its command line, so that the rig finds what is left.
DAEMONS = """
loop='trap "" TERM HUP INT; while :; do sleep 0.2; done'
for i in 1 2 3; do
  setsid bash -c "$loop" "$0" &
  (setsid bash -c "(bash -c '$loop' $0 &) ; exit" "$0" &)
done
nohup bash -c "$loop" "$0" > /dev/null 2>&1 &
disown -a
"""

STORM = """
hop() { (hop &) ; sleep 0.01; }
for i in 1 2 3; do hop & done 2> /dev/null
sleep 30
"""


@pytest.mark.escape
@pytest.mark.requirement("sandbox.tree-kill")
async def test_daemons_end_with_the_command(any_rig: Rig) -> None:
    ran = await any_rig.bash(DAEMONS + "echo started; exit 3")
    assert (ran.output, ran.outcome.exit_code) == ("started\n", 3)
    assert ran.outcome.is_tree_gone
    assert any_rig.left() == []


@pytest.mark.escape
@pytest.mark.timeout(60)
@pytest.mark.requirement("sandbox.tree-kill")
async def test_a_fork_storm_is_bounded_and_ended(any_rig: Rig) -> None:
    bounds = ShellLimits(processes=60, total_s=2.0)
    ran = await any_rig.bash(STORM, bounds=bounds)
    assert ran.outcome.end in {ShellEnd.TOTAL_TIME, ShellEnd.PROCESSES}
    assert ran.outcome.is_tree_gone
    assert any_rig.left() == []


@pytest.mark.requirement("sandbox.tree-kill")
@pytest.mark.parametrize("end", [ShellEnd.TOTAL_TIME, ShellEnd.SILENCE], ids=str)
@pytest.mark.requirement("upstream.deadline-ends-tree")
async def test_a_limit_of_time_ends_the_whole_tree(any_rig: Rig, end: ShellEnd) -> None:
    bounds = ShellLimits(total_s=1.5) if end is ShellEnd.TOTAL_TIME else ShellLimits(silence_s=1.5)
    script = DAEMONS + "echo first; echo second; sleep 60"
    ran = await any_rig.bash(script, bounds=bounds)
    assert (ran.outcome.end, ran.output) == (end, "first\nsecond\n")
    assert ran.outcome.duration_ms >= 1500
    assert any_rig.left() == []


@pytest.mark.requirement("sandbox.limits")
async def test_output_postpones_the_limit_of_silence(any_rig: Rig) -> None:
    bounds = ShellLimits(silence_s=1.5)
    ran = await any_rig.bash("for i in $(seq 8); do echo $i; sleep 0.25; done", bounds=bounds)
    assert ran.outcome.end is ShellEnd.EXITED
    assert ran.output.split() == [str(number) for number in range(1, 9)]


@pytest.mark.timeout(120)
@pytest.mark.requirement("sandbox.tree-kill")
async def test_cancelling_at_any_moment_leaves_nothing(any_rig: Rig, seed: int) -> None:
    dice = random.Random(seed)
    before = set(children(os.getpid()))
    for _ in range(8):
        running = asyncio.ensure_future(any_rig.bash(DAEMONS + "sleep 60"))
        await asyncio.sleep(dice.uniform(0, 0.09))
        running.cancel()
        if dice.random() < 0.3:
            await asyncio.sleep(0)
            running.cancel()  # an impatient caller must not break the kill off
        with pytest.raises(asyncio.CancelledError):
            await running
        assert any_rig.left() == []
        assert set(children(os.getpid())) <= before


@pytest.mark.requirement("sandbox.tree-kill")
async def test_many_trees_end_side_by_side(any_rig: Rig) -> None:
    ran = await asyncio.gather(*(any_rig.bash(f"{DAEMONS} exit {n}") for n in range(6)))
    assert [one.outcome.exit_code for one in ran] == list(range(6))
    assert any_rig.left() == []


@pytest.mark.requirement("sandbox.tree-kill")
async def test_a_tree_ended_from_outside_is_reported(any_rig: Rig) -> None:
    """The supervisor may kill a tree by the pid it was told; the runner then just reports it."""
    told: list[int] = []

    async def on_started(pid: int, _ticks: int) -> None:
        told.append(pid)

    running = asyncio.ensure_future(any_rig.bash("echo up; sleep 60; :", on_started=on_started))
    await until(lambda: bool(told) and bool(any_rig.left()))
    os.kill(told[0], signal.SIGKILL if any_rig.has_init else signal.SIGTERM)
    ran = await running
    assert ran.outcome.end in {ShellEnd.EXITED, ShellEnd.SIGNALLED, ShellEnd.FAILED_TO_START}
    assert ran.outcome.exit_code != 0


@pytest.mark.requirement("sandbox.tree-kill")
@pytest.mark.requirement("upstream.deadline-ends-tree")
async def test_open_pipes_never_delay_the_end(any_rig: Rig) -> None:
    """A daemon that keeps the output open is dead before the pipe is read to its end."""
    ran = await any_rig.bash('setsid bash -c "sleep 60; echo late" "$0" & echo now; exit 0')
    assert ran.output == "now\n"


@pytest.mark.requirement("sandbox.output-streams")
async def test_two_hundred_megabytes_stream_through_in_small_pieces(any_rig: Rig) -> None:
    largest = total = 0

    def sink(piece: bytes) -> None:
        nonlocal largest, total
        largest, total = max(largest, len(piece)), total + len(piece)

    await any_rig.bash("true")
    before = _peak_kib()
    request = any_rig.request("head -c 200000000 /dev/zero", bounds=ShellLimits(total_s=18))
    outcome = await SandboxRunner(any_rig.facts).run(request, on_started=acknowledge, sink=sink)
    assert (outcome.end, outcome.exit_code, total) == (ShellEnd.EXITED, 0, 200_000_000)
    assert largest <= 65536
    assert _peak_kib() - before < 10 * 1024


def _peak_kib() -> int:
    """Largest resident size of this process so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise AssertionError("the kernel does not tell the peak")


@pytest.mark.requirement("sandbox.output-streams")
async def test_a_flood_does_not_starve_the_loop(any_rig: Rig) -> None:
    """Between any few pieces the loop has had a turn for everybody else."""
    loop = asyncio.get_running_loop()
    turn, pieces, most, is_over = 0, 0, 0, False

    def next_turn() -> None:
        nonlocal turn, pieces
        turn, pieces = turn + 1, 0
        if not is_over:
            loop.call_soon(next_turn)

    def sink(_piece: bytes) -> None:
        nonlocal pieces, most
        pieces += 1
        most = max(most, pieces)

    loop.call_soon(next_turn)
    request = any_rig.request("head -c 100000000 /dev/zero", bounds=ShellLimits(total_s=15))
    await SandboxRunner(any_rig.facts).run(request, on_started=acknowledge, sink=sink)
    is_over = True
    assert turn > 1000
    assert most <= 8  # what the pipe still holds at the end is read at once
